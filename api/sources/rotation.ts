import type { Source } from '../../core/db/configuration/sources.ts'
import { refuse, refuseField } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import { openSourceSecrets, sealSourceSecrets } from '../../core/secrets/source-secrets.ts'
import { newSecret } from '../../core/verify/config/new-secret.ts'
import { acceptsSecret, type VerifierConfig } from '../../core/verify/config/verifier-config.ts'
import { faultsOf } from '../../core/verify/faults.ts'
import { hintOf } from './change.ts'

/** When the previous secret stops verifying; undefined when it does not verify any more, or there is none. */
export function overlapEnd({ previousSecretExpiresAt }: Source, nowMs: number): Date | undefined {
  const isOver = previousSecretExpiresAt === null || previousSecretExpiresAt.getTime() <= nowMs
  return isOver ? undefined : previousSecretExpiresAt
}

/** The source with another secret, made here when none is given. Refuses during an overlap. (spec: Sources) */
export function rotateSecret<S extends Source>(
  keyring: Keyring,
  before: S,
  wish: { secret: string | undefined; overlapSeconds: number },
  now: Date,
): { row: S; secret: string; previousExpiresAt: Date } {
  const config = before.verifier
  const held = openSourceSecrets(keyring, before)
  if (!acceptsSecret(config) || held.current === undefined) refuseSecretless()
  const expiresAt = overlapEnd(before, now.getTime())
  if (expiresAt !== undefined) {
    refuse('ROTATION_OVERLAP_ACTIVE', 'Cannot rotate secret: the previous one still verifies', {
      expiresAt: expiresAt.toISOString(),
    })
  }
  const secret = usableSecret(config, wish.secret)
  const previousExpiresAt = new Date(now.getTime() + wish.overlapSeconds * 1_000)
  const hasOverlap = wish.overlapSeconds > 0
  const { previous: _expired, ...kept } = held
  const secrets = { ...kept, current: secret, ...(hasOverlap && { previous: held.current }) }
  const row = {
    ...before,
    secrets: sealSourceSecrets(keyring, before, secrets),
    secretHint: hintOf(secret),
    previousSecretExpiresAt: hasOverlap ? previousExpiresAt : null,
    rotationId: hasOverlap ? newId(now.getTime()) : null,
    updatedAt: now,
  }
  return { row, secret, previousExpiresAt }
}

/** The source with its previous secret as the only one again. */
export function revertSecret<S extends Source>(keyring: Keyring, before: S, now: Date): S {
  const { previous, ...held } = openSourceSecrets(keyring, before)
  if (previous === undefined) throw new Error('A source under rotation has no previous secret')
  return {
    ...before,
    secrets: sealSourceSecrets(keyring, before, { ...held, current: previous }),
    secretHint: hintOf(previous),
    previousSecretExpiresAt: null,
    rotationId: null,
    updatedAt: now,
  }
}

/** Refuses a secret that the verifier cannot read: every request would be rejected, under the previous secret too. */
function usableSecret(config: VerifierConfig, given: string | undefined): string {
  const secret = given ?? newSecret(config)
  if (secret === undefined) refuseField('body.secret', 'Required: only the provider can make it')
  const [fault] = faultsOf(config, { current: secret })
  if (fault !== undefined) refuseField('body.secret', fault.message)
  return secret
}

function refuseSecretless(): never {
  const message = 'Cannot rotate secret: the verifier of this source has none'
  refuse('BAD_REQUEST', message, { fields: [{ path: 'params.id', message }] })
}

import type { ActiveSource, Source } from '../../core/db/configuration/sources.ts'
import { refuseField } from '../../core/errors.ts'
import { newMaskId } from '../../core/keys/mask-id.ts'
import { PAYLOAD_KB_DEFAULT } from '../../core/limits.ts'
import { compileSelector } from '../../core/match/selector.ts'
import { sameSecrets } from '../../core/secrets/same-secrets.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import {
  openSourceSecrets,
  sealSourceSecrets,
  type SourceSecrets,
} from '../../core/secrets/source-secrets.ts'
import { splitSecrets, type VerifierSecrets } from '../../core/verify/config/secrets.ts'
import type { VerifierConfig } from '../../core/verify/config/verifier-config.ts'
import { faultsOf } from '../../core/verify/faults.ts'
import { presetOf } from '../../core/verify/presets/presets.ts'
import { badRequest } from '../http/failure.ts'
import { changed } from '../writes/changed.ts'
import { textTypeFault } from './media-type.ts'
import type { SourceChanges } from './shape.ts'

/** Secrets shorter than this get no hint: four characters would reveal too much. */
const HINTED_LENGTH_MIN = 12

/** A new source with every setting at its default. */
export function newSource(
  given: Pick<Source, 'id' | 'organisationId' | 'projectId' | 'name' | 'kind'>,
  verifier: VerifierConfig | null | undefined,
  now: Date,
): ActiveSource {
  const preset = verifier ? presetOf(verifier) : undefined
  return {
    ...given,
    maskId: newMaskId(),
    isEnabled: true,
    verifier: bareVerifier(given.kind),
    secrets: null,
    secretHint: null,
    previousSecretExpiresAt: null,
    rotationId: null,
    // A key that is wrong loses events, a type that is wrong does not: the preset's keys are suggestions only.
    eventTypeField: preset?.eventTypeField ?? null,
    idempotencyKeys: [],
    // The methods and the answer that a provider expects are part of its preset.
    allowedMethods: [...(preset?.allowedMethods ?? ['POST'])],
    maxPayloadSizeKb: PAYLOAD_KB_DEFAULT,
    ingestResponse: { ...(preset?.ingestResponse ?? { kind: 'default' }) },
    handshake: null,
    rateLimit: 0,
    metadata: {},
    createdAt: now,
    updatedAt: now,
    lastEventAt: null,
    lastHandshakeAt: null,
  }
}

/** Takes everything. */
function bareVerifier(kind: Source['kind']): VerifierConfig {
  return kind === 'email' ? { type: 'email', require: 'none' } : { type: 'none' }
}

/** The source with its changes; null puts a member back to its default. `part` begins the paths of faults. */
export function changeSource<S extends Source>(
  keyring: Keyring,
  before: S,
  changes: SourceChanges,
  { part, now }: { part: string; now: Date },
): S {
  refuseOtherKind(before, changes, part)
  refuseAnswer(changes, part)
  const verified = changedVerifier(keyring, before, changes, part)
  return {
    ...before,
    ...verified,
    name: changes.name ?? before.name,
    isEnabled: changed(changes.isEnabled, before.isEnabled, true),
    eventTypeField: changed(changes.eventTypeField, before.eventTypeField, null),
    idempotencyKeys: changedKeys(before, changes, { verifier: verified.verifier, part }),
    allowedMethods: [...new Set(changed(changes.allowedMethods, before.allowedMethods, ['POST']))],
    maxPayloadSizeKb: changed(
      changes.maxPayloadSizeKb,
      before.maxPayloadSizeKb,
      PAYLOAD_KB_DEFAULT,
    ),
    ingestResponse: changed(changes.ingestResponse, before.ingestResponse, { kind: 'default' }),
    metadata: changed(changes.metadata, before.metadata, {}),
    updatedAt: now,
  }
}

/** The change as the audit records it, without secrets. */
export function shownChanges(changes: SourceChanges): Record<string, unknown> {
  const { verifier, handshake, ...rest } = changes
  return {
    ...rest,
    ...(verifier !== undefined && {
      verifier: verifier === null ? null : splitSecrets(verifier).config,
    }),
    ...(handshake !== undefined && { handshake: handshake === null ? null : {} }),
  }
}

/** Mail is verified in a way of its own. */
function refuseOtherKind({ kind }: Source, { verifier }: SourceChanges, part: string): void {
  const type = verifier?.type ?? 'none'
  if (kind === 'email' && type !== 'none' && type !== 'email') {
    refuseField(
      `${part}.verifier`,
      'Mail is not signed like a webhook: a source of kind "email" has a verifier of type "email", or none',
    )
  }
  if (kind === 'http' && type === 'email') {
    refuseField(`${part}.verifier`, 'Only a source of kind "email" has a verifier of type "email"')
  }
}

/** An answer that cannot be sent as its type says. */
function refuseAnswer({ ingestResponse }: SourceChanges, part: string): void {
  if (ingestResponse?.kind !== 'static' || ingestResponse.contentType === undefined) return
  const fault = textTypeFault(ingestResponse.contentType)
  if (fault !== undefined) refuseField(`${part}.ingestResponse.contentType`, fault)
}

/** However they are written, two that select the same are one. */
function refuseRepeated({ idempotencyKeys }: SourceChanges, part: string): void {
  const seen = new Set<string>()
  for (const [at, key] of (idempotencyKeys ?? []).entries()) {
    const selected = JSON.stringify(compileSelector(key))
    if (seen.has(selected))
      refuseField(`${part}.idempotencyKeys.${at}`, 'Selects what another does')
    seen.add(selected)
  }
}

/** A scheme that signs a token of one use, and not the body, is safe only while each token is taken once. */
function changedKeys(
  before: Source,
  changes: SourceChanges,
  { verifier, part }: { verifier: VerifierConfig; part: string },
): string[] {
  refuseRepeated(changes, part)
  const preset = presetOf(verifier)
  const keys = changed(changes.idempotencyKeys, before.idempotencyKeys, [])
  if (preset?.forcesIdempotencyKeys !== true) return keys
  const forced = [...(preset.idempotencyKeys ?? [])]
  const isOther = changes.idempotencyKeys?.some((key) => !forced.includes(key)) ?? false
  if (isOther) refuseField(`${part}.idempotencyKeys`, `This preset demands ${forced.join(', ')}`)
  return forced
}

type VerifierColumns = Pick<
  Source,
  'verifier' | 'secrets' | 'secretHint' | 'previousSecretExpiresAt' | 'rotationId' | 'handshake'
>

/**
 * Secrets are never shown, so a verifier that comes back without one keeps what is stored for the same preset and
 * type. A new secret ends a rotation: the one before it no longer verifies. The stored one written again is not new.
 */
function changedVerifier(
  keyring: Keyring,
  before: Source,
  { verifier: change, handshake }: SourceChanges,
  part: string,
): VerifierColumns {
  // Another change leaves the sealed bytes as they are, and needs no key.
  if (change === undefined && handshake === undefined) return before
  const held = openSourceSecrets(keyring, before)
  const stored = before.verifier
  const { config, secrets } =
    change === undefined
      ? { config: stored, secrets: {} }
      : splitSecrets(change ?? bareVerifier(before.kind))
  const isSame = config.type === stored.type && config.preset === stored.preset
  const kept = isSame && (!holdsSecret(secrets) || isSameSecret(secrets.current, held.current))
  const verifyToken = handshake === undefined ? held.verifyToken : handshake?.verifyToken
  const next: SourceSecrets = kept ? { ...held } : { ...secrets }
  if (verifyToken === undefined) delete next.verifyToken
  else next.verifyToken = verifyToken
  if (change !== undefined) refuseUnusable(config, next, `${part}.verifier`)
  const handshakeKind = presetOf(config)?.handshake
  return {
    verifier: config,
    secrets: sameSecrets(held, next) ? before.secrets : sealSourceSecrets(keyring, before, next),
    secretHint: hintOf(next.current),
    previousSecretExpiresAt: kept ? before.previousSecretExpiresAt : null,
    rotationId: kept ? before.rotationId : null,
    handshake: handshakeKind === undefined ? null : { kind: handshakeKind },
  }
}

/** Refuses what could never accept a request, each member by its path. */
function refuseUnusable(
  config: VerifierConfig,
  { current, members }: SourceSecrets,
  part: string,
): void {
  const faults = faultsOf(config, { current, members })
  if (faults.length === 0) return
  throw badRequest(
    faults.map(({ path, message }) => ({ path: [part, ...path].join('.'), message })),
  )
}

function holdsSecret({ current, members }: VerifierSecrets): boolean {
  return current !== undefined || (members?.some((member) => member !== null) ?? false)
}

function isSameSecret(given: string | undefined, stored: string | undefined): boolean {
  return given !== undefined && stored !== undefined && sameSecrets([given], [stored])
}

export function hintOf(secret: string | undefined): string | null {
  return secret === undefined || secret.length < HINTED_LENGTH_MIN ? null : secret.slice(-4)
}

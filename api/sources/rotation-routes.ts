import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { forgetSecretUsage, readSecretUsage } from '../../core/db/configuration/secret-usage.ts'
import { findSource, type ActiveSource } from '../../core/db/configuration/sources.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { refuse } from '../../core/errors.ts'
import { newMaskId } from '../../core/keys/mask-id.ts'
import { OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX } from '../../core/limits.ts'
import { flushSecretUsage } from '../../core/notices/ask-secret-usage.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing } from '../http/failure.ts'
import { NoMembers, Timestamp } from '../http/fields.ts'
import { route, type Call } from '../http/route.ts'
import { writeResource } from '../writes/write-resource.ts'
import { SOURCE } from './resource.ts'
import { overlapEnd, revertSecret, rotateSecret } from './rotation.ts'
import { Source } from './shape.ts'
import { showSource } from './view.ts'

/** As long as a verifier's secret may be. */
const SECRET_LENGTH_MAX = 4096

const tag = 'Sources'
const write = { resource: 'sources', level: 'write' } as const
const noQuery = z.strictObject({})

const SecretRotation = z
  .strictObject({
    secret: z
      .string()
      .trim()
      .min(1)
      .max(SECRET_LENGTH_MAX)
      .optional()
      .describe('The new secret; generated if left out.'),
    overlapSeconds: z
      .int()
      .min(0)
      .max(OVERLAP_SECONDS_MAX)
      .default(OVERLAP_SECONDS_DEFAULT)
      .describe('How long the previous secret verifies too.'),
  })
  .meta({ id: 'SourceSecretRotation', description: 'How to rotate the secret of a source.' })

const RotatedSecret = z
  .object({
    secret: z.string().describe('The new secret. Only this answer shows it.'),
    previousExpiresAt: Timestamp.describe('Until when the previous secret verifies too.'),
  })
  .meta({ id: 'RotatedSourceSecret', description: 'The new secret of a source.' })

const Cancellation = z
  .strictObject({
    force: z
      .boolean()
      .default(false)
      .describe('Go back even if the new secret is in use or usage counts are unavailable.'),
  })
  .meta({ id: 'SourceRotationCancellation', description: 'How to end a rotation.' })

export const SOURCE_ROTATION_ROUTES = [
  route({
    method: 'POST',
    path: '/sources/:id/rotate-mask',
    operationId: 'rotateSourceMask',
    tag,
    summary: 'Give a source another ingest address',
    description:
      'The former address answers 404 at once. Providers that sign the address (Square, Trello, Mandrill, Twilio, HubSpot) fail verification until they send to the new one.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    params: { id: 'src' },
    query: noQuery,
    body: NoMembers,
    responses: { 200: Source },
    errors: [],
    async handle(call) {
      const maskId = newMaskId()
      const { row } = await writeResource(call, SOURCE, { verb: 'rotate-mask' }, (found, now) => ({
        row: { ...found, maskId, updatedAt: now },
        shown: { maskId },
      }))
      return { status: 200, body: await showSource(call.deps, row) }
    },
  }),
  route({
    method: 'POST',
    path: '/sources/:id/rotate-secret',
    operationId: 'rotateSourceSecret',
    tag,
    summary: 'Give the verifier of a source another secret',
    description:
      'Generates a secret in the form of the verifier if `secret` is left out; only this answer shows it. The previous secret verifies too until `previousExpiresAt`. `secretRotation` of the source counts how often each was used.',
    permission: write,
    scope: 'reach',
    isSecret: true,
    params: { id: 'src' },
    query: noQuery,
    body: SecretRotation,
    responses: { 200: RotatedSecret },
    errors: ['ROTATION_OVERLAP_ACTIVE'],
    async handle(call) {
      return { status: 200, body: await rotate(call) }
    },
  }),
  route({
    method: 'POST',
    path: '/sources/:id/cancel-rotation',
    operationId: 'cancelSourceRotation',
    tag,
    summary: 'Go back to the previous secret of a source',
    description:
      'The new secret stops verifying. Refused (409) if it has already verified a request, or (503) if usage counts are unavailable. `force: true` skips the check.',
    permission: write,
    scope: 'reach',
    params: { id: 'src' },
    query: noQuery,
    body: Cancellation,
    responses: { 200: Source },
    errors: ['CONFLICT', 'ROTATION_IN_USE', 'ROTATION_USAGE_UNAVAILABLE'],
    async handle(call) {
      return { status: 200, body: await showSource(call.deps, await cancel(call)) }
    },
  }),
]

async function rotate(
  call: Call<{ id: string }, unknown, z.output<typeof SecretRotation>>,
): Promise<z.input<typeof RotatedSecret>> {
  const { deps, body } = call
  const { secret: given, overlapSeconds } = body
  const verb = 'rotate-secret'
  const rotated = await writeResource(call, SOURCE, { verb }, async (found, now, tx) => {
    const wish = { secret: given, overlapSeconds }
    const rotation = rotateSecret(deps.keyring, found, wish, now)
    await forgetSecretUsage(tx, found.id)
    return { ...rotation, shown: { overlapSeconds } }
  })
  const { secret, previousExpiresAt } = rotated
  return { secret, previousExpiresAt: timestamp(previousExpiresAt.getTime()) }
}

async function cancel(
  call: Call<{ id: string }, unknown, z.output<typeof Cancellation>>,
): Promise<ActiveSource> {
  const { deps, body } = call
  const counted = body.force ? undefined : await countUses(call)
  const { row } = await writeResource(
    call,
    SOURCE,
    { verb: 'cancel-rotation' },
    async (found, now, tx) => {
      refuseUnrotated(found, now.getTime())
      if (!body.force) {
        if (found.rotationId !== counted) {
          refuse(
            'CONFLICT',
            'Cannot cancel rotation: the secret was rotated again at the same time',
          )
        }
        await refuseUsed(deps, tx, found)
      }
      return { row: revertSecret(deps.keyring, found, now), shown: { force: body.force } }
    },
  )
  return row
}

/** Has ingest write its counts before the source is locked: it could not while it is. Returns whose they are. */
async function countUses({ deps, reach, params }: Call<{ id: string }>): Promise<string | null> {
  const found = (await findSource(deps.db, reach, params.id)) ?? refuseMissing('src', params.id)
  refuseUnrotated(found, deps.clock.now())
  if (!(await flushSecretUsage(deps))) refuseUncounted()
  return found.rotationId
}

function refuseUnrotated(source: ActiveSource, nowMs: number): void {
  if (overlapEnd(source, nowMs) === undefined) {
    refuse('CONFLICT', 'Cannot cancel rotation: none is under way')
  }
}

async function refuseUsed({ log }: Deps, tx: Db, { rotationId }: ActiveSource): Promise<void> {
  if (rotationId === null) refuseUncounted()
  const usage = await readSecretUsage(tx, [rotationId]).catch((err: unknown) => {
    log.warn({ err }, 'Cannot read how secrets are used')
    refuseUncounted()
  })
  const current = usage.get(rotationId)?.current
  if (current === undefined || current.lastSeenAt === null) return
  refuse('ROTATION_IN_USE', 'Cannot cancel rotation: the new secret has verified requests', {
    count: current.count,
    lastSeenAt: timestamp(current.lastSeenAt.getTime()),
  })
}

function refuseUncounted(): never {
  refuse(
    'ROTATION_USAGE_UNAVAILABLE',
    'Cannot cancel rotation: it cannot be told whether the new secret is in use',
  )
}

import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { SecretUsage } from '../../core/db/configuration/secret-usage.ts'
import type { ActiveSource } from '../../core/db/configuration/sources.ts'
import { encodeId } from '../../core/ids.ts'
import { IDEMPOTENCY_KEYS_MAX, PAYLOAD_KB_MAX } from '../../core/limits.ts'
import { Selector } from '../../core/match/selector.ts'
import { bodyAuthenticated, VerifierConfig as AnyConfig } from '../../core/verify/config.ts'
import { VerifierInput as AnyInput } from '../../core/verify/presets.ts'
import { Id, Metadata, Name, Timestamp } from '../fields.ts'
import { moment } from './delivery.ts'

/** Longest answer that a source may give to its sender. Ours. */
const RESPONSE_BODY_LENGTH_MAX = 4096

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const

const VerifierConfig = AnyConfig.meta({ id: 'VerifierConfig' })

const VerifierInput = AnyInput.meta({
  id: 'VerifierInput',
  anyOf: [
    { $ref: '#/components/schemas/VerifierConfig' },
    {
      type: 'object',
      required: ['preset'],
      properties: { preset: { type: 'string' }, secret: { type: 'string' } },
      description: 'A preset with the members that it needs; members given besides win.',
    },
  ],
})

const IngestResponse = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('default') }),
    z.strictObject({ kind: z.literal('empty') }),
    z.strictObject({
      kind: z.literal('static'),
      body: z.string().max(RESPONSE_BODY_LENGTH_MAX).optional(),
      contentType: z
        .string()
        .max(100)
        .regex(/^[!-~]+\/[ -~]+$/, 'Expected a media type')
        .optional(),
    }),
  ])
  .meta({ id: 'IngestResponse' })

const Usage = z.object({ count: z.int(), lastSeenAt: Timestamp.nullable() })

export const Source = z
  .object({
    id: Id('src'),
    projectId: Id('prj'),
    name: Name,
    kind: z.enum(['http', 'email']),
    maskId: z.string(),
    ingestUrl: z.string(),
    ingestAddress: z.string().nullable(),
    isEnabled: z.boolean(),
    verifier: VerifierConfig,
    secretHint: z.string().nullable(),
    secretRotation: z
      .object({ previousExpiresAt: Timestamp, current: Usage, previous: Usage })
      .nullable(),
    bodyAuthenticated: z.boolean(),
    eventTypeField: z.string().nullable(),
    idempotencyKeys: z.array(z.string()),
    allowedMethods: z.array(z.enum(METHODS)),
    maxPayloadSizeKb: z.int(),
    ingestResponse: IngestResponse,
    handshake: z.object({ kind: z.string() }).nullable(),
    rateLimit: z.int(),
    lastEventAt: Timestamp.nullable(),
    lastHandshakeAt: Timestamp.nullable(),
    metadata: Metadata,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Source' })

const changeable = {
  name: Name,
  isEnabled: z.boolean().nullable(),
  verifier: VerifierInput.nullable(),
  eventTypeField: Selector.nullable(),
  idempotencyKeys: z.array(Selector).max(IDEMPOTENCY_KEYS_MAX).nullable(),
  allowedMethods: z.array(z.enum(METHODS)).min(1).max(METHODS.length).nullable(),
  maxPayloadSizeKb: z.int().min(1).max(PAYLOAD_KB_MAX).nullable(),
  ingestResponse: IngestResponse.nullable(),
  handshake: z.strictObject({ verifyToken: z.string().trim().min(1).max(512) }).nullable(),
  metadata: Metadata.nullable(),
}

const Changes = z.strictObject(changeable).partial()

export type SourceChanges = z.output<typeof Changes>

export const SourceCreate = Changes.extend({
  name: Name,
  kind: z.enum(['http', 'email']).optional(),
}).meta({ id: 'SourceCreate' })

/** The path has the name. */
export const SourceUpsert = SourceCreate.partial({ name: true }).meta({ id: 'SourceUpsert' })

export const SourceUpdate = z.strictObject({ data: Changes }).meta({ id: 'SourceUpdate' })

/** A rotation that is under way; nothing is known of its use until a request was verified. */
interface Rotation {
  previousExpiresAt: Date
  used: SecretUsage | undefined
}

export function viewSource(
  row: ActiveSource,
  { ingestUrl, rotation }: { ingestUrl: string; rotation: Rotation | undefined },
): z.output<typeof Source> {
  const verifier = AnyConfig.parse(row.verifier)
  return Source.parse({
    id: encodeId('src', row.id),
    projectId: encodeId('prj', row.projectId),
    name: row.name,
    kind: row.kind,
    maskId: row.maskId,
    ingestUrl: `${ingestUrl}/${row.maskId}`,
    ingestAddress: null,
    isEnabled: row.isEnabled,
    verifier,
    secretHint: row.secretHint,
    secretRotation: rotation === undefined ? null : viewRotation(rotation),
    bodyAuthenticated: bodyAuthenticated(verifier),
    eventTypeField: row.eventTypeField,
    idempotencyKeys: row.idempotencyKeys,
    allowedMethods: row.allowedMethods,
    maxPayloadSizeKb: row.maxPayloadSizeKb,
    ingestResponse: row.ingestResponse,
    handshake: row.handshake,
    rateLimit: row.rateLimit,
    lastEventAt: moment(row.lastEventAt),
    lastHandshakeAt: moment(row.lastHandshakeAt),
    metadata: row.metadata,
    createdAt: timestamp(row.createdAt.getTime()),
    updatedAt: timestamp(row.updatedAt.getTime()),
  })
}

function viewRotation({
  previousExpiresAt,
  used,
}: Rotation): NonNullable<z.output<typeof Source>['secretRotation']> {
  const count = (slot: 'current' | 'previous') => ({
    count: used?.[slot].count ?? 0,
    lastSeenAt: moment(used?.[slot].lastSeenAt ?? null),
  })
  return {
    previousExpiresAt: timestamp(previousExpiresAt.getTime()),
    current: count('current'),
    previous: count('previous'),
  }
}

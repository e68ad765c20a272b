import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { SecretUsage } from '../../core/db/configuration/secret-usage.ts'
import type { ActiveSource } from '../../core/db/configuration/sources.ts'
import { encodeId } from '../../core/ids.ts'
import { IDEMPOTENCY_KEYS_MAX, PAYLOAD_KB_MAX } from '../../core/limits.ts'
import { Selector } from '../../core/match/selector.ts'
import { bodyAuthenticated, VerifierConfig } from '../../core/verify/config/verifier-config.ts'
import { VerifierInput } from '../../core/verify/presets/presets.ts'
import { Id, Metadata, Name, ShownName, Timestamp, moment } from '../http/fields.ts'

/** Longest answer that a source may give to its sender. Ours. */
const RESPONSE_BODY_LENGTH_MAX = 4096

const SELECTOR = '`header.<name>`, `query.<name>` or `body.<path>`'

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const

const IngestResponse = z
  .discriminatedUnion('kind', [
    z
      .strictObject({ kind: z.literal('default').describe('The default answer of Postern.') })
      .meta({ id: 'DefaultIngestResponse', description: 'The answer with the id of the event.' }),
    z
      .strictObject({
        kind: z.literal('empty').describe('An answer without a body.'),
        status: z
          .literal([200, 204])
          .optional()
          .describe('Its status, 200 by default. Discord wants 204.'),
      })
      .meta({ id: 'EmptyIngestResponse', description: 'An answer without a body.' }),
    z
      .strictObject({
        kind: z.literal('static').describe('Always the same answer.'),
        body: z.string().max(RESPONSE_BODY_LENGTH_MAX).optional().describe('The body to answer.'),
        contentType: z
          .string()
          .max(100)
          .regex(/^[!-~]+\/[ -~]+$/, 'Expected a media type')
          .optional()
          .describe('The `content-type` of the answer.'),
      })
      .meta({ id: 'StaticIngestResponse', description: 'An answer that is always the same.' }),
  ])
  .meta({ id: 'IngestResponse', description: 'The answer to the sender of a webhook.' })

const Usage = z
  .object({
    count: z.int().describe('Requests verified with it since the rotation.'),
    lastSeenAt: Timestamp.nullable().describe(
      'When it last verified a request; null before the first.',
    ),
  })
  .meta({ id: 'SecretUsage', description: 'How often a secret was used.' })

const Rotation = z
  .object({
    previousExpiresAt: Timestamp.describe('Until when the previous secret verifies too.'),
    current: Usage.describe('How often requests were verified with the new secret.'),
    previous: Usage.describe('How often requests were verified with the secret before it.'),
  })
  .meta({ id: 'SourceSecretOverlap', description: 'A rotation that is under way.' })

const Kind = z.enum(['http', 'email'])
const Method = z.enum(METHODS)

export const Source = z
  .object({
    id: Id('src').describe('Begins with `src_`; events and connections name it as `sourceId`.'),
    projectId: Id('prj').describe('The project whose connections take its events.'),
    name: ShownName.describe('Its name, which is unique in the project.'),
    kind: Kind.describe('How events come in: as requests, or as mails.'),
    maskId: z.string().describe('The secret part of its ingest URL.'),
    ingestUrl: z.string().describe('Where the provider sends its webhooks.'),
    ingestAddress: z
      .string()
      .nullable()
      .describe('Where mail comes in; null for `http`, and where the installation takes no mail.'),
    isEnabled: z.boolean().describe('A disabled source takes no requests.'),
    verifier: VerifierConfig.describe('How requests are verified, without the secret.'),
    secretHint: z
      .string()
      .nullable()
      .describe('The last characters of the secret; null without one.'),
    secretRotation: Rotation.nullable().describe(
      'The change of the secret that is under way; null without one.',
    ),
    bodyAuthenticated: z
      .boolean()
      .describe('The verifier covers the whole body, so that no part of it can be forged.'),
    eventTypeField: z.string().nullable().describe('The selector of the event’s type, or null.'),
    idempotencyKeys: z
      .array(z.string())
      .describe(
        'Selectors of the values that mark a duplicate: an event with the same values as an earlier one. A blank value counts as missing.',
      ),
    allowedMethods: z.array(Method).describe('The methods that it takes.'),
    maxPayloadSizeKb: z.int().describe('The largest body, in units of 1,024 bytes.'),
    ingestResponse: IngestResponse,
    handshake: z
      .object({ kind: z.string().describe('The kind of handshake, which the preset has.') })
      .meta({ id: 'Handshake', description: 'How the provider checks the ingest address.' })
      .nullable()
      .describe('Null when the provider has no handshake.'),
    rateLimit: z
      .int()
      .describe(
        'Requests per second that it takes; 0 is no limit. The operator of the installation sets it.',
      ),
    lastEventAt: Timestamp.nullable().describe('When its last event came; null before the first.'),
    lastHandshakeAt: Timestamp.nullable().describe('When its last handshake came; null before.'),
    metadata: Metadata,
    createdAt: Timestamp.describe('When it was created.'),
    updatedAt: Timestamp.describe('When it was last changed.'),
  })
  .meta({
    id: 'Source',
    description: 'An ingest address for a provider, with its verifier and limits.',
  })

const changeable = {
  name: Name.describe('A name of your choice, unique in the project.'),
  isEnabled: z
    .boolean()
    .nullable()
    .describe('A disabled source takes no requests. True by default.'),
  verifier: VerifierInput.nullable().describe('How requests are verified; null is not at all.'),
  eventTypeField: Selector.nullable().describe(
    `Selects the event’s type: ${SELECTOR}. The preset’s by default; null is none.`,
  ),
  idempotencyKeys: z
    .array(Selector)
    .max(IDEMPOTENCY_KEYS_MAX)
    .nullable()
    .describe(`Selectors of the values that mark a duplicate, each ${SELECTOR}. None by default.`),
  allowedMethods: z
    .array(Method)
    .min(1)
    .max(METHODS.length)
    .nullable()
    .describe('The methods that it takes; those of the preset, or `POST`, by default.'),
  maxPayloadSizeKb: z
    .int()
    .min(1)
    .max(PAYLOAD_KB_MAX)
    .nullable()
    .describe('The largest body, in units of 1,024 bytes; 512 by default.'),
  ingestResponse: IngestResponse.nullable().describe('The preset’s by default.'),
  handshake: z
    .strictObject({
      verifyToken: z
        .string()
        .trim()
        .min(1)
        .max(512)
        .describe('The token that you gave the provider for its handshake.'),
    })
    .meta({ id: 'HandshakeInput', description: 'Data for the handshake of the preset.' })
    .nullable()
    .describe('For a preset that needs it.'),
  metadata: Metadata.nullable().describe('Your own texts about it; null is none.'),
}

const Changes = z
  .strictObject(changeable)
  .partial()
  .meta({ id: 'SourceChanges', description: 'The members to change; the others stay.' })

export type SourceChanges = z.output<typeof Changes>

export const SourceCreate = Changes.extend({
  name: changeable.name,
  kind: Kind.optional().describe(
    'How events come in: as requests at `ingestUrl`, or as mails at `ingestAddress`; `http` by default.',
  ),
}).meta({
  id: 'SourceCreate',
  description: 'A source to create.',
  examples: [{ name: 'stripe', verifier: { preset: 'stripe', secret: 'whsec_…' } }],
})

export const SourceUpsert = SourceCreate.partial({ name: true }).meta({
  id: 'SourceUpsert',
  description: 'A whole source. The path names it; `name`, if given, must be the same.',
  examples: [{ verifier: { preset: 'stripe', secret: 'whsec_…' } }],
})

export const SourceUpdate = z
  .strictObject({ data: Changes })
  .meta({ id: 'SourceUpdate', description: 'A change of a source.' })

/** A rotation that is under way; nothing is known of its use until a request was verified. */
interface Rotation {
  previousExpiresAt: Date
  used: SecretUsage | undefined
}

/** The addresses of the installation, and the rotation of the source. */
interface Shown {
  ingestUrl: string
  mailDomain: string | undefined
  rotation: Rotation | undefined
}

export function viewSource(
  row: ActiveSource,
  { ingestUrl, mailDomain, rotation }: Shown,
): z.output<typeof Source> {
  return {
    id: encodeId('src', row.id),
    projectId: encodeId('prj', row.projectId),
    name: row.name,
    kind: row.kind,
    maskId: row.maskId,
    ingestUrl: `${ingestUrl}/${row.maskId}`,
    ingestAddress:
      row.kind === 'email' && mailDomain !== undefined ? `${row.maskId}@${mailDomain}` : null,
    isEnabled: row.isEnabled,
    verifier: row.verifier,
    secretHint: row.secretHint,
    secretRotation: rotation === undefined ? null : viewRotation(rotation),
    bodyAuthenticated: bodyAuthenticated(row.verifier),
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
  }
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

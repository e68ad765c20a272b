import { z } from 'zod'

import { applied } from './applied.ts'
import {
  conditions,
  declared,
  displayName,
  fixed,
  LAST_COLUMNS,
  metadata,
  observedGeneration,
  openObject,
  ownKind,
  READY_COLUMN,
  rules,
  SecretKeyRef,
} from './parts.ts'

/** A member of `all_of` at most. (core/verify/config/verifier-config.ts) */
const VERIFIERS_MAX = 5

const NO_SECRET = rules({
  rule: '!has(self.secret)',
  message: 'secret does not belong here: name a Secret as secretRef',
})
const Inline = z
  .string()
  .max(10_000)
  .optional()
  .describe('Never here: a secret stands in a Secret, which `secretRef` names.')

const Verifier = z
  .looseObject({
    secret: Inline,
    verifiers: z
      .array(z.looseObject({ secret: Inline }).meta({ description: 'A verifier.', ...NO_SECRET }))
      .max(VERIFIERS_MAX)
      .optional()
      .describe('With `all_of`: the verifiers.'),
  })
  .meta({
    description:
      'How requests are verified, as the API has it. In place of `secret` stands `secretRef: { name, key }`.',
    ...NO_SECRET,
  })

export const SourceSpec = z
  .object({
    ...declared,
    displayName: displayName
      .optional()
      .describe('The name in the relay, unique in the project; that of the object by default.'),
    enabled: z.boolean().default(true).describe('A disabled source takes no requests.'),
    verifier: Verifier.optional(),
    handshake: z
      .object({
        verifyTokenSecretRef: SecretKeyRef.describe('The token of the provider’s handshake.'),
      })
      .optional()
      .describe('Data for the handshake of a preset that needs it.'),
    eventTypeField: z.string().max(1_000).optional().describe('Selects the event’s type.'),
    idempotencyKeys: z
      .array(z.string().max(1_000))
      .max(20)
      .optional()
      .describe('Selectors of the values that mark a duplicate.'),
    allowedMethods: z
      .array(z.enum(['POST', 'PUT', 'PATCH', 'DELETE', 'GET']))
      .min(1)
      .max(5)
      .optional()
      .describe('The methods that it takes.'),
    maxPayloadSizeKb: z
      .int()
      .min(1)
      .optional()
      .describe('The largest body, in units of 1,024 bytes.'),
    ingestResponse: openObject('The answer to the sender, as the API has it.').optional(),
    metadata,
  })
  .meta({
    description: 'An ingest address for a provider, with its verifier.',
    ...rules(...fixed('projectId')),
  })

const SourceStatus = z
  .object({
    observedGeneration,
    sourceId: z.string().max(40).optional().describe('The id of the source in the relay.'),
    ingestUrl: z.string().max(2_048).optional().describe('Where the provider sends its webhooks.'),
    applied,
    conditions,
  })
  .describe('The source as the operator last saw it.')

export const SOURCE = ownKind({
  kind: 'Source',
  plural: 'sources',
  shortNames: ['psrc'],
  description: 'An ingest address of the relay.',
  spec: SourceSpec,
  status: SourceStatus,
  columns: [
    READY_COLUMN,
    { name: 'Source-Id', type: 'string', jsonPath: '.status.sourceId' },
    { name: 'Ingest-URL', type: 'string', jsonPath: '.status.ingestUrl' },
    ...LAST_COLUMNS,
  ],
  selectable: ['.spec.relayRef.name'],
})

import { z } from 'zod'

import {
  conditions,
  LAST_COLUMNS,
  observedGeneration,
  ownKind,
  READY_COLUMN,
  rules,
  SecretKeyRef,
} from './parts.ts'

const PEM_LENGTH_MAX = 65_536

const RelaySpec = z
  .object({
    baseUrl: z
      .string()
      .max(2_048)
      .regex(/^https?:\/\/[^\s/?#@]+\/?$/)
      .describe('The origin of the management API, such as https://relay.example.com.'),
    caBundle: z
      .string()
      .min(1)
      .max(PEM_LENGTH_MAX)
      .optional()
      .describe('PEM certificates to trust beside those of the system.'),
    caSecretRef: SecretKeyRef.optional().describe('The same in a Secret.'),
    apiKeySecretRef: SecretKeyRef.describe('The API key.'),
  })
  .meta({
    description: 'Where Postern is, and as whom to talk to it.',
    ...rules({
      rule: '!(has(self.caBundle) && has(self.caSecretRef))',
      message: 'caBundle and caSecretRef exclude each other',
    }),
  })

const RelayStatus = z
  .object({ observedGeneration, conditions })
  .describe('The relay as the operator last saw it.')

export type RelaySpec = z.infer<typeof RelaySpec>

export const RELAY = ownKind({
  kind: 'Relay',
  plural: 'relays',
  shortNames: ['prelay'],
  description: 'A relay, and the API key that the operator has for it.',
  spec: RelaySpec,
  status: RelayStatus,
  columns: [
    { name: 'URL', type: 'string', jsonPath: '.spec.baseUrl' },
    READY_COLUMN,
    ...LAST_COLUMNS,
  ],
  selectable: ['.spec.apiKeySecretRef.name'],
})

export { RelaySpec }

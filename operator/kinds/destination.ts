import { z } from 'zod'

import { applied } from './applied.ts'
import {
  conditions,
  declared,
  displayName,
  fixed,
  httpUrl,
  LAST_COLUMNS,
  metadata,
  objectName,
  observedGeneration,
  openObject,
  ownKind,
  READY_COLUMN,
  type Rule,
  rules,
  SecretKeyRef,
} from './parts.ts'

const Auth = z
  .object({
    type: z
      .enum(['none', 'basic', 'bearer', 'oauth2ClientCredentials'])
      .describe('The kind of authentication.'),
    username: z.string().max(256).optional().describe('With `basic`: the user name.'),
    passwordSecretRef: SecretKeyRef.optional().describe('With `basic`: the password.'),
    tokenSecretRef: SecretKeyRef.optional().describe('With `bearer`: the token.'),
    tokenUrl: httpUrl
      .optional()
      .describe('With `oauth2ClientCredentials`: where tokens are fetched.'),
    clientId: z.string().max(256).optional().describe('The id of the client.'),
    clientSecretRef: SecretKeyRef.optional().describe('The secret of the client.'),
    scope: z.string().max(1_024).optional().describe('The scope to ask for.'),
  })
  .describe('How Postern proves itself to the destination.')

/** Members that authentication of a type has, and no other type. */
function withType(type: string, ...members: string[]): Rule[] {
  return members.map((member) => ({
    rule: `!has(self.auth) || has(self.auth.${member}) == (self.auth.type == "${type}")`,
    message: `auth of the type ${type}, and no other, has ${member}`,
    fieldPath: '.auth',
  }))
}

export const DestinationSpec = z
  .object({
    ...declared,
    displayName: displayName
      .optional()
      .describe('The name in the relay, unique in the project; that of the object by default.'),
    url: httpUrl.describe('Where deliveries go.'),
    mode: z
      .enum(['public', 'private'])
      .default('public')
      .describe('A private destination is reached through a connector.'),
    connectorRef: z
      .object({ name: objectName.describe('The name of a Connector in the same namespace.') })
      .optional()
      .describe('The connector of a private destination.'),
    connectorId: z.string().max(40).optional().describe('The same by its id in the relay.'),
    enabled: z.boolean().default(true).describe('Deliveries to a disabled destination wait.'),
    method: z.enum(['POST', 'PUT', 'PATCH']).optional().describe('The method of deliveries.'),
    headers: z
      .record(z.string().max(100), z.string().max(4_096))
      .meta({ maxProperties: 50 })
      .optional()
      .describe('Headers that deliveries carry.'),
    headersFrom: z
      .array(
        z
          .object({
            name: z.string().min(1).max(100).describe('The name of the header.'),
            secretRef: SecretKeyRef.describe('Its value.'),
          })
          .describe('A header whose value is secret.'),
      )
      .max(50)
      .optional()
      .describe('Headers whose values are in Secrets.'),
    auth: Auth.optional(),
    timeoutMs: z.int().min(1).optional().describe('How long an attempt waits, in milliseconds.'),
    rateLimit: z.int().min(1).optional().describe('Deliveries per period.'),
    rateLimitPeriod: z
      .enum(['second', 'minute', 'hour', 'day'])
      .optional()
      .describe('The period of `rateLimit`.'),
    maxConcurrency: z.int().min(1).optional().describe('Attempts at once.'),
    retryPolicy: openObject('When a failed attempt is tried again, as the API has it.').optional(),
    metadata,
  })
  .meta({
    description: 'An endpoint that webhooks are delivered to.',
    ...rules(
      ...fixed('projectId'),
      {
        rule: "self.mode == 'private' ? has(self.connectorRef) != has(self.connectorId) : !has(self.connectorRef) && !has(self.connectorId)",
        message:
          'a private destination has either connectorRef or connectorId, a public one neither',
      },
      ...withType('basic', 'username', 'passwordSecretRef'),
      ...withType('bearer', 'tokenSecretRef'),
      ...withType('oauth2ClientCredentials', 'tokenUrl', 'clientId', 'clientSecretRef'),
      {
        rule: '!has(self.auth) || !has(self.auth.scope) || self.auth.type == "oauth2ClientCredentials"',
        message: 'only auth of the type oauth2ClientCredentials has scope',
        fieldPath: '.auth.scope',
      },
      {
        rule: '!has(self.rateLimitPeriod) || has(self.rateLimit)',
        message: 'rateLimitPeriod needs rateLimit',
        fieldPath: '.rateLimitPeriod',
      },
    ),
  })

const DestinationStatus = z
  .object({
    observedGeneration,
    destinationId: z
      .string()
      .max(40)
      .optional()
      .describe('The id of the destination in the relay.'),
    applied,
    conditions,
  })
  .describe('The destination as the operator last saw it.')

export const DESTINATION = ownKind({
  kind: 'Destination',
  plural: 'destinations',
  shortNames: ['pdst'],
  description: 'An endpoint of the relay.',
  spec: DestinationSpec,
  status: DestinationStatus,
  columns: [
    READY_COLUMN,
    { name: 'URL', type: 'string', jsonPath: '.spec.url' },
    { name: 'Destination-Id', type: 'string', jsonPath: '.status.destinationId' },
    ...LAST_COLUMNS,
  ],
  selectable: ['.spec.relayRef.name', '.spec.connectorRef.name'],
})

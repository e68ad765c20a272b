import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Destination as Row } from '../../core/db/configuration/destinations.ts'
import {
  headerFault,
  headerValueFault,
  MASKED_VALUE,
} from '../../core/delivery/delivery-headers.ts'
import { RetryPolicyInput } from '../../core/delivery/retry.ts'
import { encodeId } from '../../core/ids.ts'
import {
  DELIVERY_TIMEOUT_MS_MAX,
  DELIVERY_TIMEOUT_MS_MIN,
  FAILING_DAYS,
  FAILING_MINUTES,
} from '../../core/limits.ts'
import { StoredAuth } from '../../core/secrets/destination-secrets.ts'
import { Id, IdInput, Metadata, Name, ShownName, Timestamp } from '../http/fields.ts'
import { shownUrl, Url } from './url.ts'

/** Ours: the decisions give no bounds. */
const HEADERS_MAX = 50
const CONCURRENCY_MAX = 1000
const RATE_LIMIT_MAX = 1_000_000
const SECRET_LENGTH_MAX = 4096

const METHODS = ['POST', 'PUT', 'PATCH'] as const
const PERIODS = ['second', 'minute', 'hour', 'day'] as const

const Strategy = z.enum(['schedule', 'exponential', 'linear'])

const RetryPolicy = z
  .object({
    strategy: Strategy.describe('How the waiting times grow.'),
    scheduleSeconds: z
      .array(z.number())
      .optional()
      .describe('With `schedule`: the wait after each failure; the last one repeats.'),
    initialDelaySeconds: z
      .number()
      .optional()
      .describe('With `linear` and `exponential`: the wait after the first failure.'),
    maxDelaySeconds: z
      .number()
      .optional()
      .describe('With `linear` and `exponential`: the longest wait.'),
    maxAttempts: z.int().describe('Attempts before the delivery has failed.'),
    retryOn: z
      .array(z.string())
      .optional()
      .describe(
        'Failures to retry: error codes, statuses such as `503`, classes such as `5xx`. If absent, every failure is retried.',
      ),
  })
  .meta({ id: 'RetryPolicy', description: 'When a failed attempt is tried again.' })

const Auth = StoredAuth

const Rotation = z
  .object({
    previousExpiresAt: Timestamp.describe(
      'Until when deliveries carry the previous signature too.',
    ),
  })
  .meta({ id: 'SigningSecretOverlap', description: 'A rotation that is under way.' })

const HEALTH =
  `\`failing\`: every attempt has failed over at least ${FAILING_MINUTES} minutes; \`healthy\` again with the first ` +
  `success. Answers of 429, 502 and 504 mean busy, not failed. A destination that fails for ` +
  `${FAILING_DAYS} days is disabled with the reason \`failing\`; enabling it starts a new count. Test deliveries do not count.`

const Mode = z.enum(['public', 'private'])

export const Destination = z
  .object({
    id: Id('dst').describe('Begins with `dst_`; connections name it as `destinationId`.'),
    projectId: Id('prj').describe('The project whose connections may lead to it.'),
    name: ShownName.describe('Its name, which is unique in the project.'),
    mode: Mode.describe('A `private` destination is reached through a connector.'),
    url: z.string().describe('The URL that deliveries are sent to.'),
    connectorId: Id('cnr')
      .nullable()
      .describe('The connector of a private destination; null otherwise.'),
    isEnabled: z.boolean().describe('Deliveries to a disabled destination wait.'),
    disabledReason: z
      .string()
      .nullable()
      .describe('Why Postern disabled it: `gone` (it answered 410) or `failing`; null otherwise.'),
    method: z.enum(METHODS).describe('The method of deliveries.'),
    headers: z
      .record(z.string(), z.string())
      .meta({ description: 'Headers that deliveries carry. Values are not shown.' }),
    auth: Auth,
    timeoutMs: z
      .int()
      .describe(
        'How long an attempt may take in milliseconds, from the look-up of the host to the end of the answer.',
      ),
    rateLimit: z.int().nullable().describe('Deliveries per period; null is no limit.'),
    rateLimitPeriod: z.enum(PERIODS).describe('The span of time that `rateLimit` counts in.'),
    maxConcurrency: z.int().nullable().describe('Attempts at once; null is no limit.'),
    retryPolicy: RetryPolicy,
    signingSecretRotation: Rotation.nullable().describe(
      'The change of the signing secret that is under way; null without one.',
    ),
    health: z.enum(['healthy', 'failing', 'disabled']).meta({ description: HEALTH }),
    metadata: Metadata,
    createdAt: Timestamp.describe('When it was created.'),
    updatedAt: Timestamp.describe('When it was last changed.'),
  })
  .meta({ id: 'Destination', description: 'An endpoint that webhooks are delivered to.' })

/** Headers that a client has us send. */
export const Headers = z
  .record(z.string(), z.string())
  .superRefine((headers, context) => {
    for (const [name, value] of Object.entries(headers)) {
      const message = headerFault(name, value)
      if (message !== undefined) context.addIssue({ code: 'custom', path: [name], message })
    }
    const names = Object.keys(headers).map((name) => name.toLowerCase())
    if (new Set(names).size < names.length) {
      context.addIssue({ code: 'custom', message: 'Names a header twice' })
    }
  })
  .refine((headers) => Object.keys(headers).length <= HEADERS_MAX, {
    message: `Expected at most ${HEADERS_MAX} headers`,
  })

/** RFC 7617 and RFC 6749 have no control characters in what proves a client. */
const NO_CONTROL = /^\P{Cc}*$/u
const CONTROL_FAULT = 'Expected no control characters'
const Secret = z
  .string()
  .min(1)
  .max(SECRET_LENGTH_MAX, { abort: true })
  .regex(NO_CONTROL, CONTROL_FAULT)
const Token = Secret.refine(
  (text) => !NO_CONTROL.test(text) || headerValueFault(text) === undefined,
  'Expected only characters that a header can carry, and no blanks around them',
)
const Member = z.string().min(1).max(256, { abort: true }).regex(NO_CONTROL, CONTROL_FAULT)

/** RFC 6749, section 3.3. */
const SCOPE = /^(?:[!#-[\]-~]+(?: [!#-[\]-~]+)*)?$/

const Kept =
  'Left out, the stored one is kept if type, origin of `url` and `tokenUrl` stay the same.'

const AuthInput = z
  .discriminatedUnion('type', [
    z
      .strictObject({ type: z.literal('none').describe('No authentication.') })
      .meta({ id: 'NoAuthInput', description: 'No authentication.' }),
    z
      .strictObject({
        type: z.literal('basic').describe('HTTP Basic.'),
        username: z
          .string()
          .max(256, { abort: true })
          .regex(/^[^:]*$/, { error: 'A user name cannot hold a colon', abort: true })
          .regex(NO_CONTROL, CONTROL_FAULT)
          .describe('Sent before the colon of HTTP Basic.'),
        password: Secret.optional().describe(`The password. ${Kept}`),
      })
      .meta({ id: 'BasicAuthInput', description: 'A user name and a password.' }),
    z
      .strictObject({
        type: z.literal('bearer').describe('A bearer token.'),
        token: Token.optional().describe(`The token. ${Kept}`),
      })
      .meta({ id: 'BearerAuthInput', description: 'A token that stays the same.' }),
    z
      .strictObject({
        type: z
          .literal('oauth2ClientCredentials')
          .describe('A token that Postern fetches for itself and renews.'),
        tokenUrl: Url.describe('Where tokens are fetched.'),
        clientId: Member.describe('The id under which the token endpoint knows Postern.'),
        clientSecret: Secret.optional().describe(`The secret of the client. ${Kept}`),
        scope: z
          .string()
          .max(1024, { abort: true })
          .regex(SCOPE, 'Expected names of scopes with single blanks between them')
          .optional()
          .describe('Scopes of the token, with single blanks between them.'),
      })
      .meta({
        id: 'OAuth2ClientCredentialsAuthInput',
        description: 'A token that Postern fetches with a client’s credentials.',
      }),
  ])
  .meta({
    id: 'DestinationAuthInput',
    description: 'How Postern proves itself to the destination, with its secret.',
  })

export type AuthInput = z.output<typeof AuthInput>

const changeable = {
  name: Name.describe('A name of your choice, unique in the project.'),
  mode: Mode.nullable().describe(
    'A `private` destination is reached through a connector. `public` by default.',
  ),
  url: Url.describe(
    'Where deliveries go; http or https, without credentials. Kept in the form that is sent.',
  ),
  connectorId: IdInput('cnr')
    .nullable()
    .describe('The connector of a private destination, which is of the same project.'),
  isEnabled: z
    .boolean()
    .nullable()
    .describe('Deliveries to a disabled destination wait. True by default.'),
  method: z.enum(METHODS).nullable().describe('The method of deliveries; `POST` by default.'),
  headers: Headers.nullable().describe(
    `Headers that deliveries carry, at most ${HEADERS_MAX}. A value of \`***\` keeps the stored one, if the origin of \`url\` stays the same.`,
  ),
  auth: AuthInput.nullable().describe('How Postern proves itself; null is not at all.'),
  timeoutMs: z
    .int()
    .min(DELIVERY_TIMEOUT_MS_MIN)
    .max(DELIVERY_TIMEOUT_MS_MAX)
    .nullable()
    .describe(
      'How long an attempt may take in milliseconds, from the look-up of the host to the end of the answer; 15000 by default.',
    ),
  rateLimit: z
    .int()
    .min(1)
    .max(RATE_LIMIT_MAX)
    .nullable()
    .describe('Deliveries per period; null is no limit.'),
  rateLimitPeriod: z
    .enum(PERIODS)
    .nullable()
    .describe('The span of time that `rateLimit` counts in; `second` by default.'),
  maxConcurrency: z
    .int()
    .min(1)
    .max(CONCURRENCY_MAX)
    .nullable()
    .describe('Attempts at once; null is no limit.'),
  retryPolicy: RetryPolicyInput.nullable().describe(
    'Null is the default: 8 attempts over 28 hours.',
  ),
  metadata: Metadata.nullable().describe('Your own texts about it; null is none.'),
}

const Changes = z
  .strictObject(changeable)
  .partial()
  .meta({ id: 'DestinationChanges', description: 'The members to change; the others stay.' })

export type DestinationChanges = z.output<typeof Changes>

export const DestinationCreate = Changes.required({ name: true, url: true }).meta({
  id: 'DestinationCreate',
  description: 'A destination to create.',
  examples: [{ name: 'shop', url: 'https://shop.example.com/webhooks' }],
})

export const DestinationUpsert = DestinationCreate.partial({ name: true }).meta({
  id: 'DestinationUpsert',
  description: 'A whole destination. The path names it; `name`, if given, must be the same.',
  examples: [{ url: 'https://shop.example.com/webhooks' }],
})

export const DestinationUpdate = z
  .strictObject({ data: Changes })
  .meta({ id: 'DestinationUpdate', description: 'A change of a destination.' })

export function viewDestination(row: Row, nowMs: number): z.output<typeof Destination> {
  const previousExpiresAt = row.previousSigningSecretExpiresAt
  return {
    id: encodeId('dst', row.id),
    projectId: encodeId('prj', row.projectId),
    name: row.name,
    mode: row.mode,
    url: shownUrl(row.url),
    connectorId: row.connectorId === null ? null : encodeId('cnr', row.connectorId),
    isEnabled: row.isEnabled,
    disabledReason: row.disabledReason,
    method: row.method,
    headers: Object.fromEntries(row.headerNames.map((name) => [name, MASKED_VALUE])),
    auth: row.auth,
    timeoutMs: row.timeoutMs,
    rateLimit: row.rateLimit,
    rateLimitPeriod: row.rateLimitPeriod,
    maxConcurrency: row.maxConcurrency,
    retryPolicy: row.retryPolicy,
    signingSecretRotation:
      previousExpiresAt === null || previousExpiresAt.getTime() <= nowMs
        ? null
        : { previousExpiresAt: timestamp(previousExpiresAt.getTime()) },
    health: row.health,
    metadata: row.metadata,
    createdAt: timestamp(row.createdAt.getTime()),
    updatedAt: timestamp(row.updatedAt.getTime()),
  }
}

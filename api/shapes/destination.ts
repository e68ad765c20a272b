import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Destination as Row } from '../../core/db/configuration/destinations.ts'
import { headerFault, MASKED_VALUE } from '../../core/delivery/headers.ts'
import { RetryPolicy as AnyPolicy } from '../../core/delivery/retry.ts'
import { encodeId } from '../../core/ids.ts'
import {
  DELIVERY_TIMEOUT_MS_MAX,
  DELIVERY_TIMEOUT_MS_MIN,
  FAILING_DAYS,
  FAILING_MINUTES,
} from '../../core/limits.ts'
import { StoredAuth } from '../../core/secrets/destination-secrets.ts'
import { Id, Metadata, Name, Timestamp } from '../fields.ts'

/** Ours: the decisions give no bounds. */
const URL_LENGTH_MAX = 2048
const HEADERS_MAX = 50
const CONCURRENCY_MAX = 1000
const RATE_LIMIT_MAX = 1_000_000
const SECRET_LENGTH_MAX = 4096

const METHODS = ['POST', 'PUT', 'PATCH'] as const
const PERIODS = ['second', 'minute', 'hour', 'day'] as const

const RetryPolicy = z
  .object({
    strategy: z.enum(['schedule', 'exponential', 'linear']),
    scheduleSeconds: z.array(z.number()).optional(),
    initialDelaySeconds: z.number().optional(),
    maxDelaySeconds: z.number().optional(),
    maxAttempts: z.int(),
    retryOn: z.array(z.string()).optional(),
  })
  .meta({ id: 'RetryPolicy' })

const Auth = StoredAuth.meta({ id: 'DestinationAuth' })

const HEALTH =
  `\`failing\`: every attempt has failed over at least ${FAILING_MINUTES} minutes; \`healthy\` again with the first ` +
  `success. Answers of 429, 502 and 504 say that the destination is busy and are no failures. One that fails for ` +
  `${FAILING_DAYS} days is disabled with the reason \`failing\`; enabling it begins anew. Test deliveries do not count.`

export const Destination = z
  .object({
    id: Id('dst'),
    projectId: Id('prj'),
    name: Name,
    mode: z.enum(['public', 'private']),
    url: z.string(),
    connectorId: Id('cnr').nullable(),
    isEnabled: z.boolean(),
    disabledReason: z.string().nullable(),
    method: z.enum(METHODS),
    headers: z.record(z.string(), z.string()).meta({ description: 'Values are not shown.' }),
    auth: Auth,
    timeoutMs: z.int(),
    rateLimit: z.int().nullable(),
    rateLimitPeriod: z.enum(PERIODS),
    maxConcurrency: z.int().nullable(),
    retryPolicy: RetryPolicy,
    signingSecretRotation: z.object({ previousExpiresAt: Timestamp }).nullable(),
    health: z.enum(['healthy', 'failing', 'disabled']).meta({ description: HEALTH }),
    metadata: Metadata,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Destination' })

const Url = z
  .url({ protocol: /^https?$/, error: 'Expected an http or https URL' })
  .max(URL_LENGTH_MAX)
  .refine((text) => isPlain(text), 'Credentials belong in auth, not in the URL')

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

const Secret = z.string().min(1).max(SECRET_LENGTH_MAX)
const Member = z.string().min(1).max(256)

const AuthInput = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('none') }),
    z.strictObject({
      type: z.literal('basic'),
      username: z
        .string()
        .max(256)
        .regex(/^[^:]*$/, 'A user name cannot hold a colon'),
      password: Secret.optional(),
    }),
    z.strictObject({ type: z.literal('bearer'), token: Secret.optional() }),
    z.strictObject({
      type: z.literal('oauth2ClientCredentials'),
      tokenUrl: Url,
      clientId: Member,
      clientSecret: Secret.optional(),
      scope: z.string().max(1024).optional(),
    }),
  ])
  .meta({ id: 'DestinationAuthInput' })

export type AuthInput = z.output<typeof AuthInput>

const changeable = {
  name: Name,
  mode: z.enum(['public', 'private']).nullable(),
  url: Url,
  connectorId: Id('cnr').nullable(),
  isEnabled: z.boolean().nullable(),
  method: z.enum(METHODS).nullable(),
  headers: Headers.nullable(),
  auth: AuthInput.nullable(),
  timeoutMs: z.int().min(DELIVERY_TIMEOUT_MS_MIN).max(DELIVERY_TIMEOUT_MS_MAX).nullable(),
  rateLimit: z.int().min(1).max(RATE_LIMIT_MAX).nullable(),
  rateLimitPeriod: z.enum(PERIODS).nullable(),
  maxConcurrency: z.int().min(1).max(CONCURRENCY_MAX).nullable(),
  retryPolicy: AnyPolicy.nullable(),
  metadata: Metadata.nullable(),
}

const Changes = z.strictObject(changeable).partial()

export type DestinationChanges = z.output<typeof Changes>

export const DestinationCreate = Changes.extend({ name: Name, url: Url }).meta({
  id: 'DestinationCreate',
})

/** The path has the name. */
export const DestinationUpsert = DestinationCreate.partial({ name: true }).meta({
  id: 'DestinationUpsert',
})

export const DestinationUpdate = z.strictObject({ data: Changes }).meta({ id: 'DestinationUpdate' })

export function viewDestination(row: Row, nowMs: number): z.output<typeof Destination> {
  const previousExpiresAt = row.previousSigningSecretExpiresAt
  return Destination.parse({
    id: encodeId('dst', row.id),
    projectId: encodeId('prj', row.projectId),
    name: row.name,
    mode: row.mode,
    url: row.url,
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
  })
}

function isPlain(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && url.username === '' && url.password === ''
}

import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

import { z } from 'zod'

import { CONNECTIONS_PER_SOURCE } from './limits.ts'

const port = z.coerce.number().int().min(0).max(65_535)
const list = z
  .string()
  .transform((text) => text.split(',').map((item) => item.trim()))
  .transform((items) => items.filter((item) => item !== ''))
const origin = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ''))

/** Every setting of every role. A name with `_FILE` behind it names a file that holds the value. */
const Settings = z.object({
  DATABASE_URL: z.url().optional(),
  DATABASE_POOL_MAX: z.coerce.number().int().min(1).max(100).default(10),
  NATS_URL: z.string().min(1).optional(),
  /** A NATS server of its own for the spool, with `sync_interval: always` or as durable by other means. */
  SPOOL_NATS_URL: z.string().min(1).optional(),
  /** Copies of the spool: on the servers of NATS_URL where it has none of its own. */
  SPOOL_REPLICAS: z.coerce.number().int().min(3).max(5).optional(),
  SPOOL_MAX_MB: z.coerce.number().int().min(1).max(1_048_576).default(1_024),
  /** Base64 of 32 bytes, or a comma-separated list of `id:base64`: the first encrypts, all decrypt. */
  POSTERN_ENCRYPTION_KEY: z.string().min(1).optional(),
  DATA_DIR: z.string().min(1).default('.postern'),
  API_PORT: port.default(8080),
  INGEST_PORT: port.default(8081),
  GATEWAY_PORT: port.default(8082),
  /** Where a role serves /livez, /readyz and /metrics. */
  OPS_PORT: port.default(9090),
  API_URL: origin.optional(),
  INGEST_URL: origin.optional(),
  GATEWAY_URL: origin.optional(),
  /** CIDRs whose X-Forwarded-For is believed. */
  TRUSTED_PROXIES: list.default([]),
  /** Connections of one address, of ingest and of the API each; proxies that are trusted have no such limit. */
  CONNECTIONS_PER_ADDRESS: z.coerce.number().int().min(1).default(1_000),
  /** CIDRs that deliveries may reach although they are private. */
  DELIVERY_ALLOW_CIDRS: list.optional(),
  DEFAULT_PLAN: z.enum(['hobby', 'launch', 'scale', 'enterprise']).default('enterprise'),
  /** A JSON file of what plans grant here, where that differs from the built-in plans. */
  PLANS_FILE: z.string().min(1).optional(),
  KEY_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9]{1,15}$/)
    .default('pst'),
  API_REQUESTS_PER_MINUTE: z.coerce.number().int().min(1).default(600),
  CONNECTIONS_PER_SOURCE: z.coerce.number().int().min(1).default(CONNECTIONS_PER_SOURCE),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** The name under which a role holds leases; a restarted one takes its own back at once. */
  INSTANCE_NAME: z.string().min(1).max(100).default(hostname()),
  /** A file with milliseconds to add to the clock, for tests. */
  TEST_CLOCK_FILE: z.string().min(1).optional(),
  /** A nats-server to run instead of the one that `npm start` finds. */
  NATS_SERVER_BIN: z.string().min(1).optional(),
})

export type Settings = z.infer<typeof Settings>

type Environment = Readonly<Record<string, string | undefined>>

/** The settings of `npm start`, which brings its own database, stream and key. Throws one error naming every fault. */
export function readSettings(env: Environment): Settings {
  const parsed = Settings.safeParse(withFiles(env))
  if (!parsed.success) throw new Error(`Cannot start: ${z.prettifyError(parsed.error)}`)
  return parsed.data
}

const Role = Settings.required({
  DATABASE_URL: true,
  NATS_URL: true,
  POSTERN_ENCRYPTION_KEY: true,
})

export type Config = z.infer<typeof Role>

/** The settings of one role, which needs all three services. Throws one error naming every fault. */
export function readConfig(env: Environment): Config {
  const parsed = Role.safeParse(withFiles(env))
  if (!parsed.success) throw new Error(`Cannot start: ${z.prettifyError(parsed.error)}`)
  return parsed.data
}

/** What `migrate` and `admin` need: the database alone. */
export function readMigrateConfig(env: Environment): Settings & { DATABASE_URL: string } {
  const parsed = Settings.required({ DATABASE_URL: true }).safeParse(withFiles(env))
  if (!parsed.success) throw new Error(`Cannot start: ${z.prettifyError(parsed.error)}`)
  return parsed.data
}

/** The names of all settings, for the documents that must list them. */
export const SETTING_NAMES: readonly string[] = Object.keys(Settings.shape)

function withFiles(env: Environment): Record<string, string | undefined> {
  const known = Object.keys(Settings.shape).map((name) => {
    const file = env[`${name}_FILE`]
    return [name, file === undefined ? env[name] : readFileSync(file, 'utf8').trim()] as const
  })
  // An empty variable is how a shell or a chart says "not set", except where empty is a value of its own.
  return Object.fromEntries(
    known.filter(([name, value]) => value !== '' || name === 'DELIVERY_ALLOW_CIDRS'),
  )
}

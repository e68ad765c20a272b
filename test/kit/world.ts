import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

import type { FastifyInstance } from 'fastify'
import pg from 'pg'
import { pino, type Logger } from 'pino'
import { Registry } from 'prom-client'
import { inject } from 'vitest'

import {
  changePlan,
  createKey,
  createOrganisation,
  type Tenancy,
} from '../../api/accounts/organisations/organisations.ts'
import { buildApp } from '../../api/app.ts'
import { CallerLimits } from '../../api/auth/caller-limits.ts'
import { SIGNATURE_TESTS_PER_SECOND, type Deps } from '../../api/deps.ts'
import { LiveStreams } from '../../api/events/live/live-streams.ts'
import { LargeAnswers } from '../../api/large-answers.ts'
import { openPost } from '../../api/mail/post.ts'
import { SharedReads } from '../../api/shared-reads.ts'
import type { Provider } from '../../api/sign-on/provider.ts'
import type { Clock } from '../../core/clock.ts'
import { recordFacts } from '../../core/db/billing/ledger.ts'
import { OrganisationShares } from '../../core/db/configuration/organisation-shares.ts'
import { ensurePartitions } from '../../core/db/connection/day-partitions.ts'
import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import { migrate } from '../../core/db/migrate.ts'
import { openEgress } from '../../core/egress/egress.ts'
import { decodeId, encodeId, newId, timeOfId } from '../../core/ids.ts'
import { RESOURCES, type Permissions } from '../../core/keys/permissions.ts'
import { openNats, type NatsConnection } from '../../core/nats.ts'
import { PerSecondLimit } from '../../core/pacing/per-second-limit.ts'
import { BUILT_IN_PLANS } from '../../core/plans/built-in-plans.ts'
import type { Plans } from '../../core/plans/plans.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'
import { KeyStore } from '../../core/verify/keys.ts'
import { callApi, type Answer, type CallOptions } from './call-api.ts'
import { TESTER } from './tester.ts'

const KEY_PREFIX = 'pst'

/** The address that ingest would have; a world that runs ingest passes its own. */
const INGEST_URL = 'http://ingest.test'
const POOL_MAX = 5

const MAIL_FROM = 'Postern <postern@relay.test>'

/** Links in mails begin with it. */
export const MAIL_ORIGIN = 'https://relay.test'

/** Everything a key can be given. */
export const EVERYTHING = Object.fromEntries(
  RESOURCES.map((resource) => [resource, 'write']),
) as Permissions

interface ShiftableClock extends Clock {
  /** Moves every later answer of `now` ahead. */
  advance(ms: number): void
}

export interface Tenant {
  organisationId: string
  projectId: string
  /** With Read and write on everything. */
  key: string
}

/** A database, NATS, a clock and the management API of their own, with one organisation. */
export interface World extends Tenant, AsyncDisposable {
  db: Db
  pool: pg.Pool
  databaseUrl: string
  natsUrl: string
  nats: NatsConnection
  clock: ShiftableClock
  keyring: Keyring
  /** The dependencies of the API, to build another beside it. */
  deps: Deps
  app: FastifyInstance
  apiUrl: string
  api(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>
  createKey(
    permissions: Permissions | null,
    options?: { projectId?: string; expiresAt?: Date },
  ): Promise<{ id: string; key: string }>
  createTenant(plan?: 'hobby' | 'launch' | 'scale' | 'enterprise'): Promise<Tenant>
}

export interface WorldOptions {
  plan?: 'hobby' | 'launch' | 'scale' | 'enterprise'
  plans?: Plans
  requestsPerMinute?: number
  connectionsPerSource?: number
  allowCidrs?: readonly string[]
  ingestUrl?: string
  /** The domain of email sources: none unless told. */
  mailDomain?: string
  /** Where agents would dial; without it there is no private delivery. */
  gatewayUrl?: string
  trustedProxies?: readonly string[]
  /** Requests of an address to `/auth`, as the settings have them unless told. */
  signInsPerMinute?: number
  signUp?: 'open' | 'invitation'
  authRequestsPerMinute?: number
  signUpsPerDay?: number
  hasSelfServicePlans?: boolean
  /** The mail server; without one no mail is sent. */
  smtpUrl?: string
  /** The provider that people sign in with, and what goes with it. */
  provider?: Provider
  hasPasswords?: boolean
  allowedDomains?: readonly string[]
  /** Where the lines of the log go; nowhere unless told. */
  log?: Logger
  /** A database that is there, with the keys that open its secrets, in place of an empty one. */
  existing?: { databaseUrl: string; keyring: Keyring }
}

/** Names are TypeIDs as clients see them. Disposing of a world drops its database. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const stack = new AsyncDisposableStack()
  const log = options.log ?? pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' })
  const databaseUrl = options.existing?.databaseUrl ?? (await cloneDatabase(stack))
  const pool = openPool({ url: databaseUrl, max: POOL_MAX, log, planning: 'requests' })
  const db = stack.use(openDb(pool))
  const lists = stack.use(
    openDb(openPool({ url: databaseUrl, max: POOL_MAX, log, planning: 'lists' })),
  )
  const natsUrl = inject('natsUrl')
  const nats = await openNats(natsUrl, 'test', log)
  stack.defer(async () => await nats.close())
  const clock = shiftableClock()
  const keyring: Keyring = options.existing?.keyring ?? new Map([['0', randomBytes(32)]])
  const egress = stack.use(openEgress(options.allowCidrs ?? ['127.0.0.0/8']))
  const registry = new Registry()
  const plans = options.plans ?? BUILT_IN_PLANS
  const shares = new OrganisationShares(db)
  const deps: Deps = {
    db,
    lists,
    reads: new SharedReads(
      stack.use(openDb(openPool({ url: databaseUrl, max: 4, log, planning: 'requests' }))),
      shares,
    ),
    shares,
    largeAnswers: new LargeAnswers(shares),
    nats,
    clock,
    keyring,
    log,
    registry,
    keyPrefix: KEY_PREFIX,
    ingestUrl: options.ingestUrl ?? INGEST_URL,
    // A relay says where its ingest is.
    ingestServiceUrl: 'http://127.0.0.1:9',
    mailDomain: options.mailDomain,
    requestsPerMinute: options.requestsPerMinute ?? 100_000,
    connectionsPerSource: options.connectionsPerSource ?? 500,
    plans,
    ledger: recordFacts,
    egress,
    keys: new KeyStore(egress.dispatcher),
    signatureTests: new PerSecondLimit(SIGNATURE_TESTS_PER_SECOND),
    eventStreams: new LiveStreams({ db, nats, clock, log, registry, plans, shares }),
    trustedProxies: options.trustedProxies ?? [],
    gatewayUrl: options.gatewayUrl,
    callers: new CallerLimits(),
    dashboard: undefined,
    provider: options.provider,
    post: openPost({ db, log }, { SMTP_URL: options.smtpUrl, MAIL_FROM, API_URL: MAIL_ORIGIN }),
    accounts: {
      apiUrl: undefined,
      signUp: options.signUp ?? 'invitation',
      defaultPlan: 'enterprise',
      signInsPerMinute: options.signInsPerMinute ?? 10,
      requestsPerMinute: options.authRequestsPerMinute ?? 60,
      signUpsPerDay: options.signUpsPerDay ?? 1_000,
      hasSelfServicePlans: options.hasSelfServicePlans ?? true,
      hasPasswords: options.hasPasswords ?? true,
      allowedDomains: options.allowedDomains ?? [],
      defaultRole: 'member',
    },
  }
  const app = stack.use(buildApp(deps))
  const apiUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const tenancy: Tenancy = { ...deps, actor: TESTER }
  const tenant = await makeTenant(tenancy, options.plan ?? 'enterprise')
  return {
    ...tenant,
    db,
    pool,
    databaseUrl,
    natsUrl,
    nats,
    clock,
    keyring,
    deps,
    app,
    apiUrl,
    api: async (method, path, body, asked) =>
      await callApi(apiUrl, { method, path, body }, { key: tenant.key, ...asked }),
    createKey: async (permissions, { projectId, expiresAt } = {}) =>
      await makeKey(tenancy, {
        organisationId: tenant.organisationId,
        permissions,
        projectId: projectId ?? null,
        expiresAt: expiresAt ?? null,
      }),
    createTenant: async (plan = 'enterprise') => await makeTenant(tenancy, plan),
    [Symbol.asyncDispose]: async () => await stack.disposeAsync(),
  }
}

async function makeTenant(
  tenancy: Tenancy,
  plan: 'hobby' | 'launch' | 'scale' | 'enterprise',
): Promise<Tenant> {
  const made = await createOrganisation(tenancy, { name: 'Test', plan })
  if (plan !== made.organisation.plan) await changePlan(tenancy, made.organisation.id, plan)
  const organisationId = encodeId('org', made.organisation.id)
  const { key } = await makeKey(tenancy, {
    organisationId,
    permissions: EVERYTHING,
    projectId: null,
    expiresAt: null,
  })
  return { organisationId, projectId: encodeId('prj', made.defaultProjectId), key }
}

async function makeKey(
  tenancy: Tenancy,
  wish: {
    organisationId: string
    permissions: Permissions | null
    projectId: string | null
    expiresAt: Date | null
  },
): Promise<{ id: string; key: string }> {
  const { key, text } = await createKey(tenancy, {
    ...wish,
    organisationId: decodeId('org', wish.organisationId) ?? '',
    projectId: wish.projectId === null ? null : (decodeId('prj', wish.projectId) ?? ''),
    name: 'test',
    keyPrefix: KEY_PREFIX,
  })
  return { id: encodeId('key', key.id), key: text }
}

/**
 * Ids of one process never go back a little: a world begins where those that were made before in this process have come
 * to, whose clocks may have been ahead, or what it stores would lie in its future.
 */
function shiftableClock(): ShiftableClock {
  const nowMs = Date.now()
  let shiftMs = timeOfId(newId(nowMs)) - nowMs
  return {
    now: () => Date.now() + shiftMs,
    advance: (ms) => {
      shiftMs += ms
    },
  }
}

const MIGRATIONS = new URL('../../core/db/migrations/', import.meta.url)
const SCHEMA_FILES = [
  ...readdirSync(MIGRATIONS).map((name) => new URL(name, MIGRATIONS)),
  new URL('../../core/db/connection/day-partitions.ts', import.meta.url),
]

/** Test processes that need the template at once make it once. */
const TEMPLATE_LOCK = 7_058_613

/** A copy of a migrated database, dropped with the stack: ten times faster than migrating. */
export async function cloneDatabase(stack: AsyncDisposableStack): Promise<string> {
  const admin = new pg.Client({ connectionString: inject('postgresUrl') })
  await admin.connect()
  try {
    const template = await ensureTemplate(admin)
    const name = `postern_test_${randomBytes(6).toString('hex')}`
    await admin.query(`create database ${name} template ${template} strategy file_copy`)
    stack.defer(async () => await dropDatabase(name))
    return urlOf(name)
  } finally {
    await admin.end()
  }
}

async function ensureTemplate(admin: pg.Client): Promise<string> {
  const digest = createHash('sha256')
  for (const file of SCHEMA_FILES) digest.update(readFileSync(file))
  // Partitions are made for the days around today.
  digest.update(new Date().toISOString().slice(0, 10))
  const template = `postern_template_${digest.digest('hex').slice(0, 16)}`
  await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
  try {
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [template])
    if (rowCount === 0) await makeTemplate(admin, template)
  } finally {
    await admin.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
  }
  return template
}

/** Under another name until it is complete. */
async function makeTemplate(admin: pg.Client, template: string): Promise<void> {
  const draft = `${template}_draft`
  await admin.query(`drop database if exists ${draft} with (force)`)
  await admin.query(`create database ${draft}`)
  const log = pino({ level: 'silent' })
  {
    await using db = openDb(openPool({ url: urlOf(draft), max: 2, log }))
    await migrate(db, Date.now())
    // The days of the classes that tests live in; an organisation of another class makes its own.
    await makePartitions(db)
  }
  await admin.query(`alter database ${draft} rename to ${template}`)
}

async function makePartitions(db: Db): Promise<void> {
  const now = new Date()
  const organisation = {
    id: '00000000-0000-7000-8000-000000000000',
    name: 'template',
    plan: 'enterprise',
    overrides: '{}',
    retention_class: 90,
    created_at: now,
    updated_at: now,
  }
  await db.insertInto('organisation').values(organisation).execute()
  await ensurePartitions(db, now.getTime())
  await db.deleteFrom('organisation').execute()
  await db.deleteFrom('config_change').execute()
}

async function dropDatabase(name: string): Promise<void> {
  const admin = new pg.Client({ connectionString: inject('postgresUrl') })
  await admin.connect()
  try {
    await admin.query(`drop database if exists ${name} with (force)`)
  } finally {
    await admin.end()
  }
}

function urlOf(name: string): string {
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  return url.href
}

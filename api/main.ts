import { once } from 'node:events'

import { awaitServices } from '../core/await-services.ts'
import { openClock } from '../core/clock.ts'
import { ingestServiceUrlOf, ingestUrlOf, opsOf } from '../core/config.ts'
import { recordFacts } from '../core/db/billing/ledger.ts'
import { OrganisationShares } from '../core/db/configuration/organisation-shares.ts'
import { openDb, openPool } from '../core/db/connection/db.ts'
import { watchPools } from '../core/db/connection/pool-metrics.ts'
import { Retirement } from '../core/db/connection/retirement.ts'
import { ServerWatch } from '../core/db/connection/server-watch.ts'
import { warmUp } from '../core/db/connection/warm-up.ts'
import { Hosts } from '../core/db/hosts/hosts.ts'
import { Presence } from '../core/db/processes/presence.ts'
import { compileCidrs } from '../core/egress/address.ts'
import { openEgress } from '../core/egress/egress.ts'
import { capConnections } from '../core/http/connection-cap.ts'
import { retireConnections } from '../core/http/retire-connections.ts'
import { newId } from '../core/ids.ts'
import { READS_POOL } from '../core/limits.ts'
import { openLog } from '../core/log.ts'
import { watchLoop } from '../core/loop/watch.ts'
import { openRegistry } from '../core/metrics/instruments.ts'
import { checkConnected } from '../core/nats.ts'
import { openOps } from '../core/ops.ts'
import { PerSecondLimit } from '../core/pacing/per-second-limit.ts'
import { readPlans } from '../core/plans/plans-file.ts'
import { readKeyring } from '../core/secrets/sealed.ts'
import { configOrEnd, listenOrEnd, Readiness, warnOfMisspelt } from '../core/start-up.ts'
import { KeyStore } from '../core/verify/keys.ts'
import { buildApp, connectionRefusal } from './app.ts'
import { CallerLimits } from './auth/caller-limits.ts'
import { readBuiltFiles } from './dashboard/built-files.ts'
import { SIGNATURE_TESTS_PER_SECOND } from './deps.ts'
import { LiveStreams } from './events/live/live-streams.ts'
import { LargeAnswers } from './large-answers.ts'
import { openPost } from './mail/post.ts'
import { SharedReads } from './shared-reads.ts'
import { openProvider } from './sign-on/provider.ts'
import { findSite } from './site/site.ts'

/** Connections opened at the start in each pool: as many as one timeline uses. */
const CONNECTIONS_MIN = 4

const config = configOrEnd(process.env, 'API_PORT')
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const log = openLog(config.LOG_LEVEL, 'api')
warnOfMisspelt(process.env, log)
const registry = openRegistry()
using _watch = watchLoop({ registry, log })
const readiness = new Readiness()
await using ops = await openOps({ ...opsOf(config), registry, ready: readiness.check })
await using egress = openEgress(config.DELIVERY_ALLOW_CIDRS)
const hosts = new Hosts(config.DATABASE_URL)
const retirement = new Retirement()
await using _server = new ServerWatch({ hosts, log, retirement })
const min = Math.min(CONNECTIONS_MIN, config.DATABASE_POOL_MAX)
const settings = { hosts, max: config.DATABASE_POOL_MAX, log, min, retirement }
const pool = openPool({ ...settings, planning: 'requests' })
await using db = openDb(pool)
const listsPool = openPool({ ...settings, planning: 'lists' })
await using lists = openDb(listsPool)
const searchesPool = openPool({ ...settings, max: READS_POOL, planning: 'requests' })
await using searches = openDb(searchesPool)
watchPools(registry, { main: pool, lists: listsPool, searches: searchesPool })
const patience = { log, readiness, stop: stop.signal }
const nats = await awaitServices(config, 'api', patience)
await using closing = new AsyncDisposableStack()
closing.defer(async () => await nats.drain())
const clock = openClock(config.TEST_CLOCK_FILE)
const identity = { id: newId(clock.now()), role: 'api', name: config.INSTANCE_NAME }
await using presence = await Presence.begin({ db, log, identity })
const plans = readPlans(config.PLANS_FILE)
const dashboard = readBuiltFiles()
if (dashboard === undefined) log.warn('The dashboard is not built: npm run build:dashboard')
await using post = openPost({ db, log }, config)
const shares = new OrganisationShares(db)
await using app = buildApp({
  db,
  lists,
  shares,
  reads: new SharedReads(searches, shares),
  largeAnswers: new LargeAnswers(shares),
  nats,
  clock,
  keyring: readKeyring(config.POSTERN_ENCRYPTION_KEY),
  log,
  registry,
  keyPrefix: config.KEY_PREFIX,
  ingestUrl: ingestUrlOf(config),
  ingestServiceUrl: ingestServiceUrlOf(config),
  mailDomain: config.SMTP_DOMAIN,
  requestsPerMinute: config.API_REQUESTS_PER_MINUTE,
  connectionsPerSource: config.CONNECTIONS_PER_SOURCE,
  plans,
  ledger: recordFacts,
  egress,
  keys: new KeyStore(egress.dispatcher),
  signatureTests: new PerSecondLimit(SIGNATURE_TESTS_PER_SECOND),
  eventStreams: new LiveStreams({ db, nats, clock, log, registry, plans, shares }),
  trustedProxies: config.TRUSTED_PROXIES,
  gatewayUrl: config.GATEWAY_URL,
  callers: new CallerLimits(),
  accounts: {
    apiUrl: config.API_URL,
    signUp: config.SIGNUP,
    defaultPlan: config.DEFAULT_PLAN,
    signInsPerMinute: config.SIGN_INS_PER_MINUTE,
    requestsPerMinute: config.AUTH_CALLS_PER_MINUTE,
    signUpsPerDay: config.SIGN_UPS_PER_DAY,
    hasSelfServicePlans: config.SELF_SERVICE_PLANS === 'on',
    hasPasswords: config.AUTH_PASSWORDS === 'on',
    allowedDomains: config.OIDC_ALLOWED_DOMAINS,
    defaultRole: config.OIDC_DEFAULT_ROLE,
  },
  dashboard,
  site: findSite(),
  post,
  provider: openProvider(config),
})
await Promise.all([warmUp(db, min), warmUp(lists, min)]).catch((err: unknown) =>
  log.warn({ err }, 'Cannot warm up: the first requests take longer'),
)
capConnections(app.server, {
  max: config.CONNECTIONS_PER_ADDRESS,
  trusted: compileCidrs(config.TRUSTED_PROXIES),
  refusal: connectionRefusal(),
  registry,
  log,
})
await listenOrEnd('API_PORT', () => app.listen({ host: config.HOST, port: config.API_PORT }))
readiness.is({ PostgreSQL: () => presence.check(), NATS: () => checkConnected(nats) })
log.info({ addresses: app.addresses(), opsPort: ops.port }, 'Listening')
if (!stop.signal.aborted) await once(stop.signal, 'abort')
log.info('Stopping')
readiness.waitsFor('api', 'The process is going away')
await retireConnections(app.server)

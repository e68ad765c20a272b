import { once } from 'node:events'

import { awaitServices } from '../../core/await-services.ts'
import { openClock } from '../../core/clock.ts'
import { ingestUrlOf, mailSettingsOf, opsOf } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { watchPools } from '../../core/db/connection/pool-metrics.ts'
import { Retirement } from '../../core/db/connection/retirement.ts'
import { ServerWatch } from '../../core/db/connection/server-watch.ts'
import { Hosts } from '../../core/db/hosts/hosts.ts'
import { compileCidrs } from '../../core/egress/address.ts'
import { openEgress } from '../../core/egress/egress.ts'
import { capConnections } from '../../core/http/connection-cap.ts'
import { retireConnections } from '../../core/http/retire-connections.ts'
import { deliveryStreamOf } from '../../core/jetstream/connect-nats.ts'
import { INGEST_STATEMENT_TIMEOUT_MS } from '../../core/limits.ts'
import { openLog } from '../../core/log.ts'
import { watchLoop } from '../../core/loop/watch.ts'
import { openRegistry } from '../../core/metrics/instruments.ts'
import { openOps } from '../../core/ops.ts'
import { readPlans } from '../../core/plans/plans-file.ts'
import { readKeyring } from '../../core/secrets/sealed.ts'
import {
  configOrEnd,
  listenOrEnd,
  Readiness,
  warnOfMisspelt,
  whenUsable,
} from '../../core/start-up.ts'
import { openTracing } from '../../core/tracing/open-tracing.ts'
import { connectionRefusal } from './http/server.ts'
import { openIngest } from './ingest.ts'
import { spoolSettings } from './spool/spool.ts'

const config = configOrEnd(process.env, 'INGEST_PORT')
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const log = openLog(config.LOG_LEVEL, 'ingest')
warnOfMisspelt(process.env, log)
const clock = openClock(config.TEST_CLOCK_FILE)
const keyring = readKeyring(config.POSTERN_ENCRYPTION_KEY)
const registry = openRegistry()
using _watch = watchLoop({ registry, log })

const readiness = new Readiness()
await using _ops = await openOps({ ...opsOf(config), registry, ready: readiness.check })
const hosts = new Hosts(config.DATABASE_URL)
const retirement = new Retirement()
await using _server = new ServerWatch({ hosts, log, retirement })
const pool = openPool({
  hosts,
  max: config.DATABASE_POOL_MAX,
  log,
  retirement,
  statementTimeoutMs: INGEST_STATEMENT_TIMEOUT_MS,
  planning: 'inserts',
})
await using db = openDb(pool)
watchPools(registry, { main: pool })
const patience = { log, readiness, stop: stop.signal }
await using nats = await awaitServices(config, 'ingest', patience)
await whenUsable('JetStream', () => deliveryStreamOf(nats), patience)
await using tracing = await openTracing({ settings: config, role: 'ingest', clock, log, registry })
await using egress = openEgress(config.DELIVERY_ALLOW_CIDRS)
await using ingest = await openIngest({
  pool,
  db,
  nats,
  clock,
  log,
  keyring,
  plans: readPlans(config.PLANS_FILE),
  dispatcher: egress.dispatcher,
  ingestUrl: ingestUrlOf(config),
  trustedProxies: config.TRUSTED_PROXIES,
  name: config.INSTANCE_NAME,
  registry,
  mail: mailSettingsOf(config),
  spool: spoolSettings(config),
  tracing,
})
capConnections(ingest.app.server, {
  max: config.CONNECTIONS_PER_ADDRESS,
  trusted: compileCidrs(config.TRUSTED_PROXIES),
  refusal: connectionRefusal(),
  registry,
  log,
})
await listenOrEnd('INGEST_PORT', () =>
  ingest.app.listen({ host: config.HOST, port: config.INGEST_PORT }),
)
const { mail } = ingest
const { SMTP_PORT: smtpPort } = config
if (mail !== undefined && smtpPort !== undefined) {
  await listenOrEnd('SMTP_PORT', () => mail.listen(smtpPort, config.HOST))
}
readiness.is({ PostgreSQL: () => ingest.ready() })

log.info('Started')
if (!stop.signal.aborted) await once(stop.signal, 'abort')
readiness.waitsFor('ingest', 'The process is going away')
await retireConnections(ingest.app.server)

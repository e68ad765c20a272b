import { once } from 'node:events'

import { awaitServices } from '../../core/await-services.ts'
import { openClock } from '../../core/clock.ts'
import { opsOf } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { watchPools } from '../../core/db/connection/pool-metrics.ts'
import { Retirement } from '../../core/db/connection/retirement.ts'
import { ServerWatch } from '../../core/db/connection/server-watch.ts'
import { Hosts } from '../../core/db/hosts/hosts.ts'
import { compileCidrs, isReachable } from '../../core/egress/address.ts'
import { deliveryStreamOf } from '../../core/jetstream/connect-nats.ts'
import { openLog } from '../../core/log.ts'
import { watchLoop } from '../../core/loop/watch.ts'
import { openRegistry } from '../../core/metrics/instruments.ts'
import { openOps } from '../../core/ops.ts'
import { readPlans } from '../../core/plans/plans-file.ts'
import { readKeyring } from '../../core/secrets/sealed.ts'
import { configOrEnd, Readiness, warnOfMisspelt, whenUsable } from '../../core/start-up.ts'
import { openTracing } from '../../core/tracing/open-tracing.ts'
import { openMetrics } from './in-flight/metrics.ts'
import { socketsOf } from './sockets-max.ts'
import { startWorker } from './worker.ts'

const config = configOrEnd(process.env)
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const log = openLog(config.LOG_LEVEL, 'worker')
warnOfMisspelt(process.env, log)
const clock = openClock(config.TEST_CLOCK_FILE)
const keyring = readKeyring(config.POSTERN_ENCRYPTION_KEY)
const allowed = compileCidrs(config.DELIVERY_ALLOW_CIDRS)
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
  planning: 'lookups',
})
await using db = openDb(pool)
watchPools(registry, { main: pool })
const patience = { log, readiness, stop: stop.signal }
await using nats = await awaitServices(config, 'worker', patience)
await whenUsable('JetStream', () => deliveryStreamOf(nats), patience)
await using tracing = await openTracing({ settings: config, role: 'worker', clock, log, registry })
await using worker = await startWorker({
  pool,
  db,
  nats,
  clock,
  log,
  keyring,
  plans: readPlans(config.PLANS_FILE),
  isAllowed: (address) => isReachable(address, allowed),
  name: config.INSTANCE_NAME,
  random: Math.random,
  socketsMax: await socketsOf('/proc/self/limits'),
  metrics: openMetrics(registry),
  tracing,
})
readiness.is({ PostgreSQL: () => worker.checkDatabase(), partitions: () => worker.checkReady() })

log.info('Started')
if (!stop.signal.aborted) await once(stop.signal, 'abort')

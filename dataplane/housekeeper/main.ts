import { once } from 'node:events'

import { collectDefaultMetrics, Registry } from 'prom-client'

import { openClock } from '../../core/clock.ts'
import { readConfig } from '../../core/config.ts'
import { recordFacts } from '../../core/db/billing/ledger.ts'
import { openDb, openPool } from '../../core/db/db.ts'
import { ping } from '../../core/db/ping.ts'
import { openLog } from '../../core/log.ts'
import { watchLoop } from '../../core/loop/watch.ts'
import { openOps } from '../../core/ops.ts'
import { readPlans } from '../../core/plans/plans-file.ts'
import { readKeyring } from '../../core/secrets/sealed.ts'
import { ensureDeliveryStream } from '../../core/stream/delivery-stream.ts'
import { openNats } from '../../core/stream/nats.ts'
import { startHousekeeper } from './housekeeper.ts'

const config = readConfig(process.env)
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const log = openLog(config.LOG_LEVEL, 'housekeeper')
const clock = openClock(config.TEST_CLOCK_FILE)
const registry = new Registry()
collectDefaultMetrics({ register: registry })
using _watch = watchLoop({ registry, log })

const pool = openPool({
  url: config.DATABASE_URL,
  max: config.DATABASE_POOL_MAX,
  log,
  planning: 'tasks',
})
await using db = openDb(pool)
await using nats = await openNats(config.NATS_URL, 'housekeeper', log)
const manager = await ensureDeliveryStream(nats)
await using _housekeeper = startHousekeeper({
  pool,
  db,
  nats,
  manager,
  clock,
  log,
  keyring: readKeyring(config.POSTERN_ENCRYPTION_KEY),
  plans: readPlans(config.PLANS_FILE),
  ledger: recordFacts,
  name: config.INSTANCE_NAME,
})
await using _ops = await openOps({ port: config.OPS_PORT, registry, ready: () => ping(db) })

log.info('Started')
if (!stop.signal.aborted) await once(stop.signal, 'abort')

import { once } from 'node:events'

import { collectDefaultMetrics, Registry } from 'prom-client'

import { openClock } from '../../core/clock.ts'
import { readConfig } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/db.ts'
import { compileCidrs } from '../../core/egress/address.ts'
import { openEgress } from '../../core/egress/egress.ts'
import { capConnections } from '../../core/http/connection-cap.ts'
import { INGEST_STATEMENT_TIMEOUT_MS } from '../../core/limits.ts'
import { openLog } from '../../core/log.ts'
import { watchLoop } from '../../core/loop/watch.ts'
import { openOps } from '../../core/ops.ts'
import { readPlans } from '../../core/plans/plans-file.ts'
import { readKeyring } from '../../core/secrets/sealed.ts'
import { ensureDeliveryStream } from '../../core/stream/delivery-stream.ts'
import { openNats } from '../../core/stream/nats.ts'
import { openIngest } from './ingest.ts'
import { connectionRefusal } from './server.ts'
import { spoolSettings } from './spool.ts'

const config = readConfig(process.env)
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const log = openLog(config.LOG_LEVEL, 'ingest')
const clock = openClock(config.TEST_CLOCK_FILE)
const keyring = readKeyring(config.POSTERN_ENCRYPTION_KEY)
const registry = new Registry()
collectDefaultMetrics({ register: registry })
using _watch = watchLoop({ registry, log })

const pool = openPool({
  url: config.DATABASE_URL,
  max: config.DATABASE_POOL_MAX,
  log,
  statementTimeoutMs: INGEST_STATEMENT_TIMEOUT_MS,
  planning: 'inserts',
})
await using db = openDb(pool)
await using nats = await openNats(config.NATS_URL, 'ingest', log)
await ensureDeliveryStream(nats)
await using egress = openEgress(config.DELIVERY_ALLOW_CIDRS ?? [])
await using ingest = await openIngest({
  pool,
  db,
  nats,
  clock,
  log,
  keyring,
  plans: readPlans(config.PLANS_FILE),
  dispatcher: egress.dispatcher,
  ingestUrl: config.INGEST_URL ?? `http://localhost:${config.INGEST_PORT}`,
  trustedProxies: config.TRUSTED_PROXIES,
  name: config.INSTANCE_NAME,
  registry,
  spool: spoolSettings(config),
})
capConnections(ingest.app.server, {
  max: config.CONNECTIONS_PER_ADDRESS,
  trusted: compileCidrs(config.TRUSTED_PROXIES),
  refusal: connectionRefusal(),
})
await ingest.app.listen({ host: '0.0.0.0', port: config.INGEST_PORT })
await using _ops = await openOps({ port: config.OPS_PORT, registry, ready: () => ingest.ready() })

log.info('Started')
if (!stop.signal.aborted) await once(stop.signal, 'abort')

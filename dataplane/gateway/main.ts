import { once } from 'node:events'

import { awaitServices } from '../../core/await-services.ts'
import { openClock } from '../../core/clock.ts'
import { gatewayPortOf, opsOf } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { watchPools } from '../../core/db/connection/pool-metrics.ts'
import { Retirement } from '../../core/db/connection/retirement.ts'
import { ServerWatch } from '../../core/db/connection/server-watch.ts'
import { Hosts } from '../../core/db/hosts/hosts.ts'
import { compileCidrs } from '../../core/egress/address.ts'
import { clientAddress } from '../../core/http/client-address.ts'
import { capConnections } from '../../core/http/connection-cap.ts'
import { openLog } from '../../core/log.ts'
import { watchLoop } from '../../core/loop/watch.ts'
import { openRegistry } from '../../core/metrics/instruments.ts'
import { checkConnected } from '../../core/nats.ts'
import { openOps } from '../../core/ops.ts'
import { configOrEnd, listenOrEnd, Readiness, warnOfMisspelt } from '../../core/start-up.ts'
import { openTracing } from '../../core/tracing/open-tracing.ts'
import { CONNECTION_REFUSAL } from './dial/server.ts'
import { startGateway } from './gateway.ts'

const config = configOrEnd(process.env, 'GATEWAY_PORT')
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const log = openLog(config.LOG_LEVEL, 'gateway')
warnOfMisspelt(process.env, log)
const registry = openRegistry()
using _watch = watchLoop({ registry, log })
const readiness = new Readiness()
await using ops = await openOps({ ...opsOf(config), registry, ready: readiness.check })
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
await using nats = await awaitServices(config, 'gateway', patience)
const clock = openClock(config.TEST_CLOCK_FILE)
await using tracing = await openTracing({ settings: config, role: 'gateway', clock, log, registry })
const trusted = compileCidrs(config.TRUSTED_PROXIES)
await using gateway = await startGateway({
  db,
  nats,
  clock,
  log,
  registry,
  name: config.INSTANCE_NAME,
  tracing,
  remoteIpOf: (request) => clientAddress(request, trusted),
})
const { server } = gateway
capConnections(server, {
  max: config.CONNECTIONS_PER_ADDRESS,
  trusted,
  refusal: CONNECTION_REFUSAL,
  registry,
  log,
})
await listenOrEnd('GATEWAY_PORT', async () => {
  server.listen(gatewayPortOf(config), config.HOST)
  await once(server, 'listening')
})
readiness.is({ PostgreSQL: () => gateway.checkDatabase(), NATS: () => checkConnected(nats) })

log.info({ address: server.address(), opsPort: ops.port }, 'Listening')
if (!stop.signal.aborted) await once(stop.signal, 'abort')
log.info('Stopping')
readiness.waitsFor('gateway', 'The gateway is going away')
await gateway.drain()

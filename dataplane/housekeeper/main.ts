import { once } from 'node:events'

import { awaitServices } from '../../core/await-services.ts'
import { openClock } from '../../core/clock.ts'
import { apiUrlOf, opsOf } from '../../core/config.ts'
import { recordFacts } from '../../core/db/billing/ledger.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { watchPools } from '../../core/db/connection/pool-metrics.ts'
import { Retirement } from '../../core/db/connection/retirement.ts'
import { ServerWatch } from '../../core/db/connection/server-watch.ts'
import { Hosts } from '../../core/db/hosts/hosts.ts'
import { Presence } from '../../core/db/processes/presence.ts'
import { newId } from '../../core/ids.ts'
import { deliveryStreamOf } from '../../core/jetstream/connect-nats.ts'
import { openLog } from '../../core/log.ts'
import { watchLoop } from '../../core/loop/watch.ts'
import { openMailer, type Mailer } from '../../core/mail/mailer.ts'
import { openRegistry } from '../../core/metrics/instruments.ts'
import { openOps } from '../../core/ops.ts'
import { readPlans } from '../../core/plans/plans-file.ts'
import { readKeyring } from '../../core/secrets/sealed.ts'
import { configOrEnd, Readiness, warnOfMisspelt, whenUsable } from '../../core/start-up.ts'
import { startHousekeeper } from './housekeeper.ts'

const config = configOrEnd(process.env)
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())

const log = openLog(config.LOG_LEVEL, 'housekeeper')
warnOfMisspelt(process.env, log)
const clock = openClock(config.TEST_CLOCK_FILE)
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
  planning: 'tasks',
})
await using db = openDb(pool)
watchPools(registry, { main: pool })
const patience = { log, readiness, stop: stop.signal }
await using nats = await awaitServices(config, 'housekeeper', patience)
const manager = await whenUsable('JetStream', () => deliveryStreamOf(nats), patience)
const identity = { id: newId(clock.now()), role: 'housekeeper', name: config.INSTANCE_NAME }
await using presence = await Presence.begin({ db, log, identity })
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
  registry,
  dashboardUrl: apiUrlOf(config),
  ...mailOf(config),
})
readiness.is({ PostgreSQL: () => presence.check() })

log.info('Started')
if (!stop.signal.aborted) await once(stop.signal, 'abort')

function mailOf({ SMTP_URL: url, MAIL_FROM: from }: typeof config): { mailer?: Mailer } {
  return url === undefined || from === undefined ? {} : { mailer: openMailer({ url, from }) }
}

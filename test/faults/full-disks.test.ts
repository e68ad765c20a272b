import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { storesDeliveries } from '../../core/jetstream/store-probe.ts'
import { LEASE_MS } from '../../core/limits.ts'
import { openLog } from '../../core/log.ts'
import { openNats } from '../../core/nats.ts'
import { scratch } from '../kit/servers.ts'
import { mountSmallDisk, whyNoSmallDisk, type SmallDisk } from '../kit/small-disk.ts'
import { startLoad } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { openRoute } from './route.ts'
import { settle } from './settle.ts'
import { accountOf } from './tally.ts'
import { until } from './until.ts'

const PER_SECOND = 150
const BEFORE = 2 * PER_SECOND
/** PostgreSQL dies of it and does not come up: the supervisor tries until it does. */
const POSTGRES_FULL = 8 * PER_SECOND
/** Longer than the lease and the sweep: what NATS does not carry goes out meanwhile. */
const NATS_FULL = 32 * PER_SECOND
const AFTER = 3 * PER_SECOND
const BACK_MS = 60_000
/** A look at NATS that began before there was room may end it once more, up to 9 s later; then all connect again. */
const CARRIED = 15 * PER_SECOND
/** Fill their pages to the last: a few such sources need room that is not there. */
const LARGE = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => [`key ${index}`, 'x'.repeat(500)]),
)
/** Two segments of PostgreSQL's log: the second has no room. */
const FILL_LOG = `
  select pg_logical_emit_message(false, 'filler', repeat('x', 1000000)) from generate_series(1, 32)`
const ROLES = ['ingest', 'worker', 'housekeeper', 'api'] as const
const RESIDENT_MB_MAX = 400

const SILENT = openLog('silent', 'test')
const why = whyNoSmallDisk()
if (why !== undefined) process.stdout.write(`Full disks are not tested: ${why}\n`)

describe.skipIf(why !== undefined)('with a full disk', () => {
  const stack = new AsyncDisposableStack()
  let relay: Relay
  let disks: { postgres: SmallDisk; nats: SmallDisk }
  beforeAll(async () => {
    const dataDir = stack.use(scratch()).path
    disks = {
      postgres: stack.use(mountSmallDisk(join(dataDir, 'postgres'), 400)),
      nats: stack.use(mountSmallDisk(join(dataDir, 'nats'), 64)),
    }
    relay = stack.use(await startRelay({ DATA_DIR: dataDir }))
  })
  afterEach(() => {
    disks.postgres.free()
    disks.nats.free()
  })
  afterAll(async () => await stack.disposeAsync())

  test('PostgreSQL stores nothing, ingest and API answer 503, and all go on by themselves when there is room', async () => {
    await using route = await openRoute(relay, 'PostgreSQL full')
    await using load = startLoad({ ...route, perSecond: PER_SECOND })
    await load.reached(BEFORE)
    const pids = ROLES.map((role) => relay.role(role))
    const postgres = relay.server('postgres')
    disks.postgres.fill()
    const statuses = new Set<number>()
    await until(
      'the API refuses a write',
      async () => statuses.add(await write()).has(503),
      BACK_MS,
    )
    expect(statuses.difference(new Set([201, 503]))).toEqual(new Set())
    // Without room for the log of what it does PostgreSQL ends itself, and its recovery too.
    await relay.query(FILL_LOG, []).catch(() => {})
    await load.reached(BEFORE + POSTGRES_FULL)
    expect(() => relay.server('postgres')).toThrow(/No postgres runs|ENOENT/)
    disks.postgres.free()
    await load.accepted(BACK_MS)
    await load.reached(BEFORE + POSTGRES_FULL + AFTER)
    const sent = await load.stop()
    const account = await settle('PostgreSQL out of disk', relay, { route, sent })
    expect(account.unanswered).toBe(0)
    expect(account.refused).toBeGreaterThan(POSTGRES_FULL / 2)
    const unlike = sent.filter(
      ({ answer }) =>
        answer.kind === 'refused' && (answer.status !== 503 || answer.retryAfter === null),
    )
    expect(unlike).toEqual([])
    expect(relay.server('postgres')).not.toBe(postgres)
    expect(ROLES.map((role) => relay.role(role))).toEqual(pids)
    expectModest()
  })

  test('NATS carries nothing, all is accepted and delivered, and it carries again when there is room', async () => {
    await using route = await openRoute(relay, 'NATS full')
    await using load = startLoad({ ...route, perSecond: PER_SECOND })
    await load.reached(BEFORE)
    const pids = ROLES.map((role) => relay.role(role))
    disks.nats.fill()
    await load.reached(BEFORE + NATS_FULL)
    const deliveredMeanwhile = route.destination.arrivals.size - BEFORE
    disks.nats.free()
    // A server that noticed a failed write must be restarted; another one goes on.
    await until('NATS stores again', storesAgain, BACK_MS)
    await load.goesOn(CARRIED)
    const sent = await load.stop()
    const account = await settle('NATS out of disk', relay, { route, sent })
    expect(account).toMatchObject({ refused: 0, unanswered: 0 })
    expect(deliveredMeanwhile).toBeGreaterThan(0)
    // The last ones did not have to wait for the sweep.
    const last = accountOf(sent.slice(-PER_SECOND), route.destination.arrivals)
    expect(last.longestMs).toBeLessThan(LEASE_MS)
    expect(ROLES.map((role) => relay.role(role))).toEqual(pids)
    expectModest()
  })

  async function storesAgain(): Promise<boolean> {
    const nats = await openNats(relay.natsUrl, 'test', SILENT).catch(() => undefined)
    if (nats === undefined) return false
    const isStoring = await storesDeliveries(nats).catch(() => false)
    await nats.close()
    return isStoring
  }

  /** Makes a source. Returns the answer's status. */
  async function write(): Promise<number> {
    const name = crypto.randomUUID()
    try {
      await relay.api('POST', '/v1/sources', { name, metadata: LARGE })
      return 201
    } catch (error) {
      return Number(/: (\d{3}) /.exec(String(error))?.[1])
    }
  }

  function expectModest(): void {
    for (const role of ROLES)
      expect(residentMb(relay.role(role)), role).toBeLessThan(RESIDENT_MB_MAX)
  }
})

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024
}

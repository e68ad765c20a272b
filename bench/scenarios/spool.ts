import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import pg from 'pg'

import { newId } from '../../core/ids.ts'
import { appendToSpool } from '../../core/jetstream/spool-stream.ts'
import { encodeSpooled, type SpooledEvent } from '../../core/jetstream/spooled-event.ts'
import { SPOOL_STREAM, SPOOL_SUBJECTS, spoolSubject } from '../../core/jetstream/stream-subjects.ts'
import { openLog } from '../../core/log.ts'
import { openNats, type NatsConnection } from '../../core/nats.ts'
import { scratch, startTestNats } from '../../test/kit/servers.ts'
import { median } from '../measure.ts'
import { cpuUsOf, pidOf } from '../processes.ts'
import { openRelay, WARM_UP, type Relay } from '../relay.ts'
import { startBeside } from '../role-beside.ts'
import { rateText, type Row } from '../table.ts'

const SOURCES = 50
const RUNS = 3
const APPENDED_AT_ONCE = 256
const DEADLINE_MS = 120_000
const LOOK_MS = 20

/**
 * Spooled events stored by one ingest process, then by two; beside them the same events by plain ingest. The worker stands
 * still.
 */
export async function spool({ waiting = 40_000 }: { waiting?: number }): Promise<Row[]> {
  using directory = scratch()
  const beside = join(directory.path, 'spool')
  mkdirSync(beside, { mode: 0o755 })
  await using server = await startTestNats(beside)
  const settings = { SPOOL_NATS_URL: server.url, SPOOL_MAX_MB: '512' }
  await using relay = await openRelay({
    fanOut: 1,
    bodyBytes: 1_024,
    sources: SOURCES,
    settings,
  })
  const nats = await openNats(server.url, 'bench', openLog('silent', 'bench'))
  await using _ = { [Symbol.asyncDispose]: () => nats.close() }
  await relay.run(WARM_UP)
  const spooled = await spooledLike(relay.installation.databaseUrl)
  process.kill(relay.workerPid(), 'SIGSTOP')
  try {
    const first = pidOf(relay.installation.supervisorPid, 'ingest')
    const rates: Rates = { plain: [], one: [], two: [] }
    const deps = { relay, nats, spooled, waiting }
    // The first drain of a process is of code that V8 has not compiled.
    await drainRate(deps, [first])
    for (let n = 0; n < RUNS; n++) {
      rates.plain.push(await plainRate(deps))
      rates.one.push(await drainRate(deps, [first]))
    }
    await using second = await startBeside(relay.installation, 'ingest', settings)
    await drainRate(deps, [first, second.pid])
    for (let n = 0; n < RUNS; n++) {
      rates.two.push(await drainRate(deps, [first, second.pid]))
    }
    return rowsOf(rates, waiting)
  } finally {
    process.kill(relay.workerPid(), 'SIGCONT')
  }
}

interface Deps {
  relay: Relay
  nats: NatsConnection
  spooled: readonly SpooledEvent[]
  waiting: number
}

interface Rate {
  perSecond: number
  /** Microseconds of an event in the processes that store. */
  cpuUs: number
}

type Rates = Record<'plain' | 'one' | 'two', Rate[]>

async function plainRate({ relay, waiting }: Deps): Promise<Rate> {
  const pid = pidOf(relay.installation.supervisorPid, 'ingest')
  return await rateOf([pid], waiting, () => relay.fill(waiting))
}

/** Fills the spool while the processes that drain it stand still. */
async function drainRate({ nats, spooled, waiting }: Deps, pids: readonly number[]): Promise<Rate> {
  const manager = await jetstreamManager(nats)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    await append(nats, spooled, waiting)
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
  return await rateOf(pids, waiting, () => isEmpty(manager))
}

async function rateOf(
  pids: readonly number[],
  events: number,
  act: () => Promise<void>,
): Promise<Rate> {
  const used = (): number => pids.reduce((sum, pid) => sum + cpuUsOf(pid), 0)
  const before = used()
  const startedAt = performance.now()
  await act()
  const perSecond = (events / (performance.now() - startedAt)) * 1_000
  return { perSecond, cpuUs: (used() - before) / events }
}

async function append(
  nats: NatsConnection,
  spooled: readonly SpooledEvent[],
  count: number,
): Promise<void> {
  let sent = 0
  const appendNext = async (): Promise<void> => {
    while (sent < count) {
      const like = spooled[sent++ % spooled.length]
      if (like === undefined) throw new Error('No event was stored')
      const dedupeKey = randomBytes(32).toString('hex')
      const data = encodeSpooled({ ...like, id: newId(Date.now()), dedupeKey })
      const key = `${like.sourceId}:${dedupeKey}`
      await appendToSpool(nats, { subject: spoolSubject(like.sourceId), data, key })
    }
  }
  await Promise.all(Array.from({ length: APPENDED_AT_ONCE }, appendNext))
}

async function isEmpty(manager: JetStreamManager): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  const length = async (): Promise<number> =>
    (await manager.streams.info(SPOOL_STREAM, { subjects_filter: SPOOL_SUBJECTS })).state.messages
  while ((await length()) > 0) {
    if (performance.now() > deadline) throw new Error('The spool is not drained')
    await sleep(LOOK_MS)
  }
}

/** An event of each source as ingest would have spooled it. */
async function spooledLike(databaseUrl: string): Promise<SpooledEvent[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<Omit<SpooledEvent, 'raw' | 'mail'> & { raw: Buffer }>(
    `select distinct on (e.source_id) e.id, e.class, c.organisation_id as "organisationId",
       e.project_id as "projectId", e.source_id as "sourceId", s.name as "sourceName", s.mask_id as "maskId", e.status,
       e.event_type as "eventType", null as "dedupeKey", e.verified_with as "verifiedWith", e.method, e.path, e.query,
       e.headers::text as headers, e.content_type as "contentType", false as "isBinary", '127.0.0.1' as "remoteIp",
       null as outcomes, 10 as "verifiedUs", 10 as "matchedUs", e.raw,
       json_build_array(json_build_object('connectionId', c.id, 'destinationId', c.destination_id, 'maxAttempts', 3,
         'partition', abs(hashtext(c.destination_id::text)) % 64)) as deliveries
     from event e join source s on s.id = e.source_id join connection c on c.source_id = s.id`,
  )
  await client.end()
  return rows.map((row) => ({ ...row, mail: null }))
}

function rowsOf(rates: Rates, waiting: number): Row[] {
  const row = (what: string, of: readonly Rate[]): Row => ({
    figure: `${waiting.toLocaleString('en')} events of 1 KB, ${what}`,
    must: '',
    measured: rateText(median(of.map(({ perSecond }) => perSecond))),
    cpu: `ingest ${Math.round(median(of.map(({ cpuUs }) => cpuUs)))} us of an event`,
  })
  return [
    row('sent to ingest', rates.plain),
    row('spooled, stored by one ingest', rates.one),
    row('spooled, stored by two', rates.two),
  ]
}

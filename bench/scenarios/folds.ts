import { sql } from 'kysely'

import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import { migrate } from '../../core/db/migrate.ts'
import { openLog } from '../../core/log.ts'
import {
  foldAllUsage,
  foldStatistics,
  rollUpStatistics,
} from '../../dataplane/housekeeper/tasks/statistics.ts'
import { scratch, startTestPostgres } from '../../test/kit/servers.ts'
import { cpuUsOf } from '../processes.ts'
import type { Row } from '../table.ts'

/** Rows of each kind a second: one for each event, as many small batches of many projects leave them. */
const RATE = 15_000

/** By then all minutes are rolled up. */
const ROLLED_UP_MS = 600_000

const SPREADS = [
  { destinations: 50, projects: 1 },
  { destinations: 5_000, projects: 1 },
  { destinations: 5_000, projects: 5_000 },
] as const
type Spread = (typeof SPREADS)[number]

/** The counts of `seconds` at the sustained rate, folded as a housekeeper does: the CPU time that a row costs PostgreSQL. */
export async function folds({ seconds = 60 }: { seconds?: number }): Promise<Row[]> {
  const rows: Row[] = []
  for (const spread of SPREADS) rows.push(...(await foldsOf(spread, seconds)))
  return rows
}

async function foldsOf(spread: Spread, seconds: number): Promise<Row[]> {
  using directory = scratch()
  await using server = await startTestPostgres(directory.path)
  const log = openLog('silent', 'bench')
  const open = (): Db => openDb(openPool({ url: server.url, max: 1, log, planning: 'tasks' }))
  await using writer = open()
  await using folder = open()
  await migrate(writer, Date.now())
  await writeRoutes(writer, spread)
  const pid = await pidOf(folder)
  const spent = { statistics: 0, rollUps: 0, usage: 0 }
  const timed = async (kind: keyof typeof spent, act: () => Promise<boolean>): Promise<void> => {
    const before = cpuUsOf(pid)
    while (await act());
    spent[kind] += cpuUsOf(pid) - before
  }
  const startMs = Math.floor(Date.now() / 60_000) * 60_000
  const began = performance.now()
  for (let second = 0; second < seconds; second++) {
    const nowMs = startMs + second * 1_000
    await writeCounts(writer, spread, nowMs)
    await timed('statistics', () => foldStatistics(folder))
    await timed('usage', () => foldAllUsage(folder))
  }
  await timed('rollUps', () => rollUpStatistics(folder, startMs + seconds * 1_000 + ROLLED_UP_MS))
  const { rows } = await sql<{ rollups: number }>`
    select (select count(*) from event_rollup) + (select count(*) from delivery_rollup) as rollups`.execute(
    folder,
  )
  const all = RATE * seconds
  const figure = `${spread.destinations.toLocaleString('en')} destinations of ${spread.projects.toLocaleString('en')} projects`
  const us = (of: number): string => (of / all).toFixed(1)
  console.log(
    figure,
    us(spent.statistics),
    us(spent.rollUps),
    us(spent.usage),
    rows[0],
    Math.round(performance.now() - began),
  )
  return [
    {
      figure: `folds, ${figure}`,
      must: '66 us',
      measured: `${us(spent.statistics + spent.rollUps + spent.usage)} us of an event`,
      cpu: `minutes ${us(spent.statistics)}, roll-ups ${us(spent.rollUps)}, usage ${us(spent.usage)} us`,
    },
  ]
}

async function pidOf(db: Db): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return rows[0]?.pid ?? 0
}

/** Ids follow from numbers, and come in no order. */
const idOf = (kind: string, of: string): string => `md5('${kind}' || ${of})::uuid`

/** As far as the roll-ups look at them. */
async function writeRoutes(db: Db, { destinations, projects }: Spread): Promise<void> {
  const project = idOf('project', `n % ${projects}`)
  const common = `${project}, ${project}, n, now(), now(), '{}' from generate_series(0, ${destinations - 1}) n`
  await sql
    .raw(
      `set session_replication_role = replica;
       insert into source (id, kind, mask_id, is_enabled, verifier, idempotency_keys, allowed_methods, max_payload_size_kb,
         ingest_response, organisation_id, project_id, name, created_at, updated_at, metadata)
       select ${idOf('source', 'n')}, 'webhook', n, true, '{}', '[]', '[]', 1, '{}', ${common};
       insert into connection (id, source_id, destination_id, is_enabled,
         organisation_id, project_id, name, created_at, updated_at, metadata)
       select ${idOf('connection', 'n')}, ${idOf('source', 'n')}, ${idOf('destination', 'n')}, true, ${common};`,
    )
    .execute(db)
  await sql`vacuum analyze source, connection`.execute(db)
}

async function writeCounts(
  db: Db,
  { destinations, projects }: Spread,
  nowMs: number,
): Promise<void> {
  const n = `(i * 7919 + ${nowMs % 1_000_003}) % ${destinations}`
  const project = idOf('project', `n % ${projects}`)
  const source = idOf('source', 'n')
  const destination = idOf('destination', 'n')
  const connection = idOf('connection', 'n')
  const of = `from (select ${n} as n, i from generate_series(1, ${RATE}) i) s`
  const at = `timestamptz '${new Date(nowMs).toISOString()}'`
  await sql
    .raw(
      `insert into event_delta (at, project_id, source_id, status, rejection_reason, events)
       select ${at}, ${project}, ${source}, 'received', null, 1 ${of};
       insert into delivery_delta (at, project_id, source_id, destination_id, connection_id, succeeded, failed, throttled,
         attempts, retried, latencies)
       select date_trunc('minute', ${at}), ${project}, ${source}, ${destination}, ${connection}, 1, 0, 0, 1, 0,
         array[50 + i % 20]::int2[] ${of};
       insert into usage_delta (organisation_id, at, deliveries)
       select ${project}, ${at}, 1 ${of};`,
    )
    .execute(db)
}

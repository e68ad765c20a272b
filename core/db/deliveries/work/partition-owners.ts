import type pg from 'pg'

import { int2Array, int4Array } from '../../connection/binary-arrays.ts'

/** How long an owner that stopped renewing keeps the others out. */
export const PARTITION_HELD_MS = 5_000

/** A partition in a worker's hands. The epoch grows with every change of owner, so that a former one is known. */
export interface Hold {
  partition: number
  epoch: number
}

export interface Member {
  name: string
  processId: string
}

/**
 * All times are the database's: the clocks of workers may differ. A time written before that clock was set back counts from
 * now; otherwise everybody would wait for a dead worker until the clock reaches its time again.
 */
const REPORT = `
  with reported as (
    insert into worker (name, process_id, seen_at) values ($1::text, $2::uuid, clock_timestamp())
    on conflict (name) do update set process_id = excluded.process_id, seen_at = excluded.seen_at
    returning name
  ), forgotten as (
    delete from worker where seen_at < clock_timestamp() - interval '1 hour' and name <> $1::text
  ), foreign_times as (
    update worker set seen_at = clock_timestamp()
    where seen_at > clock_timestamp() + interval '1 second' and name <> $1::text
  ), foreign_leases as (
    update partition_owner set held_until = clock_timestamp() + $3::int4 * interval '1 millisecond'
    where held_until > clock_timestamp() + $3::int4 * interval '1 millisecond' + interval '1 second'
  )
  select name, case when process_id = $2::uuid then extract(epoch from clock_timestamp() - seen_at) * 1000 end as ago_ms
  from worker where seen_at > clock_timestamp() - $3::int4 * interval '1 millisecond' or name = $1::text
  union all select name, null from reported where not exists (select from worker where name = $1::text)`

export interface Report {
  /** Names of all live workers. */
  names: string[]
  /** Since the same process reported before, by the database's clock; undefined when it did not. */
  reportedAgoMs: number | undefined
}

/** Says that a worker lives. */
export async function reportWorker(pool: pg.Pool, member: Member): Promise<Report> {
  const { rows } = await pool.query<{ name: string; ago_ms: string | null }>({
    name: 'report_worker',
    text: REPORT,
    values: [member.name, member.processId, PARTITION_HELD_MS],
  })
  const agoMs = rows.find((row) => row.ago_ms !== null)?.ago_ms
  return { names: rows.map(({ name }) => name), reportedAgoMs: agoMs ? Number(agoMs) : undefined }
}

/** A worker that leaves has no share any more. */
export async function forgetWorker(pool: pg.Pool, { processId }: Member): Promise<void> {
  await pool.query('delete from worker where process_id = $1::uuid', [processId])
}

/** Two workers lock rows in the same order. */
const HOLD = `
  with taken as (
    select partition from partition_owner
    where process_id = $1::uuid and partition = any($3::int2[])
      or partition = any($4::int2[]) and (process_id is null
        or $5::bool and held_until < clock_timestamp() or $6::bool and holder = $2::text)
    order by partition for update
  )
  update partition_owner o set
    epoch = o.epoch + (o.process_id is distinct from $1::uuid)::int, holder = $2::text, process_id = $1::uuid,
    held_until = clock_timestamp() + $7::int4 * interval '1 millisecond'
  from taken where o.partition = taken.partition
  returning o.partition, o.epoch`

export interface Wish {
  /** Partitions that it owns and keeps. */
  kept: readonly number[]
  /** Partitions that it takes if they have no owner. */
  wanted: readonly number[]
  /** Take partitions whose owner stopped renewing, too. */
  withExpired: boolean
  /** Take partitions of a former process of this name, too. */
  withFormer: boolean
}

/** Renews all of a worker's partitions and takes those it wants that are free. Returns what it then has. */
export async function holdPartitions(
  pool: pg.Pool,
  { name, processId }: Member,
  wish: Wish,
): Promise<Hold[]> {
  const { rows } = await pool.query<Hold>({
    name: 'hold_partitions',
    text: HOLD,
    values: [
      processId,
      name,
      int2Array(wish.kept),
      int2Array(wish.wanted),
      wish.withExpired,
      wish.withFormer,
      PARTITION_HELD_MS,
    ],
  })
  return rows
}

const RELEASE = `
  update partition_owner set holder = null, process_id = null, held_until = 'epoch'
  where process_id = $1::uuid and partition = any($2::int2[])`

/** Lets whoever wants them take over at once. */
export async function releasePartitions(
  pool: pg.Pool,
  { processId }: Member,
  partitions: readonly number[],
): Promise<void> {
  await pool.query(RELEASE, [processId, int2Array(partitions)])
}

/**
 * A CTE with one flag for each distinct hold that a statement's rows come with: whether it is still good. `first` and
 * the next parameter are the columns of `holdsOf`; a row's `slot` is the index of its hold.
 */
export function heldFlags(first: number): string {
  return `held as materialized (
    select array_agg(exists (
      select from partition_owner o where o.partition = h.partition and o.epoch = h.epoch
    ) order by h.slot) as flags
    from unnest($${first}::int2[], $${first + 1}::int4[]) with ordinality as h (partition, epoch, slot)
  )`
}

/** The holds that rows share as two columns, and for each row the slot of its own, from 1; 0 where it has none. */
export function holdsOf(rows: readonly { hold: Hold | null }[]): {
  columns: [Buffer, Buffer]
  slots: Buffer
  slotOf: number[]
} {
  const known = new Map<Hold, number>()
  const holds: Hold[] = []
  const slotOf = rows.map(({ hold }) => {
    if (hold === null) return 0
    let slot = known.get(hold)
    if (slot === undefined) {
      slot = holds.push(hold)
      known.set(hold, slot)
    }
    return slot
  })
  return { columns: holdColumns(holds), slots: int2Array(slotOf), slotOf }
}

export function holdColumns(holds: readonly Hold[]): [Buffer, Buffer] {
  return [
    int2Array(holds.map(({ partition }) => partition)),
    int4Array(holds.map(({ epoch }) => epoch)),
  ]
}

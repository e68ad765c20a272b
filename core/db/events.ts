import { sql, type RawBuilder } from 'kysely'

import type { Db } from './db.ts'
import type { Reach } from './page.ts'

/** An event as it stands in a list. */
export interface EventSummary {
  class: number
  id: string
  organisationId: string
  projectId: string
  sourceId: string
  status: string
  eventType: string | null
  idempotencyKey: string | null
  rejectionReason: string | null
  verifiedWith: string
  method: string
  path: string
  contentType: string | null
  sizeBytes: number
  isBinary: boolean
  remoteIp: string
}

/** An event with all that was received. */
export interface Event extends EventSummary {
  /** JSON of [name, value] pairs. */
  headers: string
  /** Raw, without the question mark. */
  query: string
  raw: Buffer
  /** JSON of what matching said of each connection; null when it said nothing worth keeping. */
  outcomes: string | null
  verifiedUs: number
  matchedUs: number
  storedAt: Date
}

export interface EventFilter {
  projectId: string
  sourceId: string | undefined
  status: string | undefined
  /** Bounds of the id: from the first, before the second. */
  fromId: string | undefined
  untilId: string | undefined
  sortDir: 'asc' | 'desc'
  /** The last id of the page before. */
  afterId: string | undefined
}

const SUMMARY = sql`
  class, id, organisation_id as "organisationId", project_id as "projectId", source_id as "sourceId", status,
  event_type as "eventType", idempotency_key as "idempotencyKey", rejection_reason as "rejectionReason",
  verified_with as "verifiedWith", method, path, content_type as "contentType", size_bytes as "sizeBytes",
  is_binary as "isBinary", remote_ip as "remoteIp"`

/** One row more than the page holds, to tell whether there is another. */
export async function listEvents(
  db: Db,
  filter: EventFilter,
  limit: number,
): Promise<EventSummary[]> {
  const { rows } = await sql<EventSummary>`
    select ${SUMMARY} from event where ${where(filter)} ${order(filter)} limit ${limit + 1}`.execute(
    db,
  )
  return rows
}

/**
 * As `listEvents`, each row with whether it is certainly behind the horizon: no transaction that is still open began
 * before the row's own, so nothing with a smaller id can come in beside it. (decisions: Statistics and stream)
 */
export async function listSettledEvents(
  db: Db,
  filter: EventFilter,
  limit: number,
): Promise<(EventSummary & { isSettled: boolean })[]> {
  const { rows } = await sql<EventSummary & { isSettled: boolean }>`
    select ${SUMMARY}, age(xmin) > age((
      pg_snapshot_xmin(pg_current_snapshot())::text::bigint % 4294967296)::text::xid) as "isSettled"
    from event where ${where(filter)} ${order(filter)} limit ${limit + 1}`.execute(db)
  return rows
}

/** How far one step of a search reads: rows, and bytes of bodies. */
export interface SearchStep {
  rows: number
  bytes: number
}

/**
 * One step of a search: of the next events in order those whose type, idempotency key or body holds `term`, and the
 * last id that was looked at, undefined when the step found nothing more to look at.
 */
export async function searchEvents(
  db: Db,
  filter: EventFilter,
  term: string,
  step: SearchStep,
): Promise<{ found: EventSummary[]; searchedId: string | undefined; isLast: boolean }> {
  const pattern = `%${term.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  const dir = sql.raw(filter.sortDir)
  // The sum counts the bodies before a row's own, so that a step always reads at least one.
  const { rows } = await sql<
    EventSummary & { isMatch: boolean; readRows: number; stepRows: number }
  >`
    select ${SUMMARY}, "isMatch", "readRows", "stepRows"
    from (
      select *, count(*) over () as "readRows", row_number() over (order by id ${dir}) as place,
        (event_type ilike ${pattern} or idempotency_key ilike ${pattern}
          or case when is_binary then encode(raw, 'escape') else convert_from(raw, 'UTF8') end ilike ${pattern})
          is true as "isMatch"
      from (
        select *, count(*) over () as "stepRows",
          sum(size_bytes) over (order by id ${dir}) - size_bytes > ${step.bytes} as "isBeyond"
        from (select * from event where ${where(filter)} ${order(filter)} limit ${step.rows}) as step
      ) as measured
      where not "isBeyond"
    ) as searched
    where "isMatch" or place = "readRows"
    order by id ${dir}`.execute(db)
  const last = rows.at(-1)
  return {
    found: rows.filter((row) => row.isMatch),
    searchedId: last?.id,
    isLast: last === undefined || (last.readRows === last.stepRows && last.stepRows < step.rows),
  }
}

/** Undefined when the event is absent or out of reach: the caller must not tell which. */
export async function findEvent(db: Db, reach: Reach, id: string): Promise<Event | undefined> {
  const project =
    reach.projectId === undefined ? sql`true` : sql`project_id = ${reach.projectId}::uuid`
  const { rows } = await sql<Event>`
    select ${SUMMARY}, headers, query, raw, outcomes, verified_us as "verifiedUs", matched_us as "matchedUs",
      stored_at as "storedAt"
    from event
    where id = ${id}::uuid and organisation_id = ${reach.organisationId}::uuid and ${project}`.execute(
    db,
  )
  return rows[0]
}

/** The events that deliveries send, by id: their headers and where they came from, without bodies. */
export async function eventHeads(
  db: Db,
  ids: readonly string[],
): Promise<Map<string, Pick<Event, 'id' | 'headers' | 'verifiedWith' | 'remoteIp'>>> {
  const { rows } = await sql<Pick<Event, 'id' | 'headers' | 'verifiedWith' | 'remoteIp'>>`
    select id, headers, verified_with as "verifiedWith", remote_ip as "remoteIp"
    from event where id = any(${ids}::uuid[])`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}

export async function hasAnyEvent(db: Db, projectId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from event where project_id = ${projectId}::uuid) as found`.execute(db)
  return rows[0]?.found ?? false
}

function where(filter: EventFilter): RawBuilder<unknown> {
  const { projectId, sourceId, status, fromId, untilId, afterId, sortDir } = filter
  const behind = sortDir === 'asc' ? sql`>` : sql`<`
  const conditions = [
    sql`project_id = ${projectId}::uuid`,
    ...(sourceId === undefined ? [] : [sql`source_id = ${sourceId}::uuid`]),
    ...(status === undefined ? [] : [sql`status = ${status}`]),
    ...(fromId === undefined ? [] : [sql`id >= ${fromId}::uuid`]),
    ...(untilId === undefined ? [] : [sql`id < ${untilId}::uuid`]),
    ...(afterId === undefined ? [] : [sql`id ${behind} ${afterId}::uuid`]),
  ]
  return sql.join(conditions, sql` and `)
}

function order({ sortDir }: EventFilter): RawBuilder<unknown> {
  return sql`order by id ${sql.raw(sortDir)}`
}

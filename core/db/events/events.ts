import { sql, type RawBuilder } from 'kysely'

import type { RejectionReason } from '../../verify/request/signed-request.ts'
import type { Db } from '../connection/db.ts'
import { behind, type Direction } from '../lists/id-ranges.ts'
import {
  cut,
  readList,
  type Cut,
  type IndexedList,
  type PartialPage,
  type Walk,
} from '../lists/indexed-lists.ts'
import { withinReach, type Reach } from '../lists/page.ts'
import { ofParent } from '../lists/parent-filter.ts'
import { likePattern } from './search-pattern.ts'

/** Every status that an event may have; nothing gives it the last two. (spec: Event status) */
export const EVENT_STATUSES = [
  'received',
  'filtered',
  'unmatched',
  'rejected',
  'duplicate',
  'pending',
] as const

/** An event as it stands in a list. */
export interface EventSummary {
  retentionClass: number
  id: string
  organisationId: string
  projectId: string
  sourceId: string
  status: (typeof EVENT_STATUSES)[number]
  eventType: string | null
  idempotencyKey: string | null
  rejectionReason: RejectionReason | null
  verifiedWith: string
  method: string
  path: string
  contentType: string | null
  sizeBytes: number
  isBinary: boolean
  remoteIp: string
}

/** An event with all that was received but its body. */
export interface Event extends EventSummary {
  /** JSON of [name, value] pairs. */
  headers: string
  /** Raw, without the question mark. */
  query: string
  /** JSON of what matching said of each connection; null when it said nothing worth keeping. */
  outcomes: string | null
  /** The fault of the verifier of a rejected event. */
  rejectionDetail: string | null
  verifiedUs: number
  matchedUs: number
  storedAt: Date
}

export interface EventFilter {
  projectId: string
  sourceId: string | undefined
  status: string | undefined
  /** Exact, or with `*` at its end all that begin so. No index has it. */
  eventType: string | undefined
  /** Bounds of the id: from the first, before the second. */
  fromId: string | undefined
  untilId: string | undefined
  sortDir: Direction
  /** The last id of the page before. */
  afterId: string | undefined
}

export interface EventPage {
  limit: number
  nowMs: number
  readRows: number
}

/** The columns of an `EventSummary`. */
export const SUMMARY = sql`
  class as "retentionClass", id, organisation_id as "organisationId", project_id as "projectId", source_id as "sourceId", status,
  event_type as "eventType", idempotency_key as "idempotencyKey", rejection_reason as "rejectionReason",
  verified_with as "verifiedWith", method, path, content_type as "contentType", coalesce(octet_length(mail), size_bytes) as "sizeBytes",
  is_binary as "isBinary", remote_ip as "remoteIp"`

export async function listEvents(
  db: Db,
  filter: EventFilter,
  page: EventPage,
): Promise<PartialPage<EventSummary>> {
  return await readList(db, listOf(filter, SUMMARY), walkOf(filter, page))
}

/** All that is counted of an event. */
export type EventMark = Pick<EventSummary, 'id' | 'sourceId' | 'status'>

/** As `listEvents`, for pages of thousands. */
export async function markEvents(
  db: Db,
  filter: EventFilter,
  page: EventPage,
): Promise<Cut<EventMark>> {
  const list = listOf(filter, sql`id, source_id as "sourceId", status`)
  return cut(await readList<EventMark>(db, list, walkOf(filter, page)), page.limit)
}

/**
 * As `listEvents`, each row with whether its transaction lies below `settledBelow`: nothing with a smaller id can come
 * in beside it. Rows older than the column have no transaction. (decisions: Statistics and stream)
 */
export async function listSettledEvents(
  db: Db,
  filter: EventFilter,
  page: EventPage,
  settledBelow: bigint,
): Promise<PartialPage<EventSummary & { isSettled: boolean }>> {
  const isSettled = sql`coalesce(transaction_id < ${String(settledBelow)}::xid8, true) as "isSettled"`
  return await readList(db, listOf(filter, sql`${SUMMARY}, ${isSettled}`), walkOf(filter, page))
}

function walkOf({ fromId, untilId, afterId, sortDir }: EventFilter, page: EventPage): Walk {
  const whole = { fromId, untilId }
  const range = afterId === undefined ? whole : behind(whole, afterId, sortDir)
  return { ...page, range, dir: sortDir }
}

/** Most are `received`, so that status has no index. */
function listOf(
  { projectId, sourceId, status, eventType }: EventFilter,
  columns: RawBuilder<unknown>,
): IndexedList {
  const isRare = status !== undefined && status !== 'received'
  const indexes = [
    ...(isRare ? [['project', 'status']] : []),
    ...(sourceId === undefined ? [] : [['source']]),
  ]
  return {
    table: sql`event t`,
    id: sql`t.id`,
    columns,
    equals: {
      project: { column: sql`t.project_id`, value: sql`${projectId}::uuid` },
      ...(sourceId !== undefined && { source: ofParent('source', sourceId, projectId) }),
      ...(status !== undefined && {
        status: {
          column: sql`t.status`,
          value: sql`${status}::text`,
          ...(isRare && { predicate: sql`t.status <> 'received'` }),
        },
      }),
    },
    others: isOfType(sql`t.event_type`, eventType),
    indexes: indexes.length === 0 ? [['project']] : indexes,
    isPartitioned: true,
  }
}

/** The class that an event of the project is stored in; undefined when there is none such. */
export async function classOfEvent(
  db: Db,
  projectId: string,
  id: string,
): Promise<number | undefined> {
  const { rows } = await sql<{ retentionClass: number }>`
    select class as "retentionClass" from event where id = ${id}::uuid and project_id = ${projectId}::uuid`.execute(
    db,
  )
  return rows[0]?.retentionClass
}

/** Undefined when the event is absent or out of reach: the caller must not tell which. */
export async function findEvent(db: Db, reach: Reach, id: string): Promise<Event | undefined> {
  const { rows } = await sql<Event>`
    select ${SUMMARY}, headers, query, outcomes, rejection_detail as "rejectionDetail", verified_us as "verifiedUs", matched_us as "matchedUs",
      stored_at as "storedAt"
    from event
    where id = ${id}::uuid and ${withinReach(reach)}`.execute(db)
  return rows[0]
}

/**
 * The class of an event, which to the end of the transaction is neither purged nor moved to another class; undefined
 * when it was purged.
 */
export async function lockEvent(tx: Db, id: string): Promise<number | undefined> {
  const { rows } = await sql<{ retentionClass: number }>`
    select class as "retentionClass" from event where id = ${id}::uuid for key share`.execute(tx)
  return rows[0]?.retentionClass
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

/** Whether the project ever had an event, as the statistics know it: one that is gone by retention counts. */
export async function hasAnyEvent(db: Db, projectId: string): Promise<boolean> {
  const id = sql`${projectId}::uuid`
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from event_rollup where project_id = ${id})
      or exists (select from event_minute where project_id = ${id})
      or exists (select from event_delta where project_id = ${id}) as found`.execute(db)
  return rows[0]?.found === true || (await hasStoredEvent(db, projectId))
}

/**
 * Looks once into each partition's index by project: for a project without events, reading events until one belongs to it
 * would read all of them.
 */
async function hasStoredEvent(db: Db, projectId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from event where project_id = ${projectId}::uuid) as found`.execute(db)
  return rows[0]?.found ?? false
}

/** Both ways to write a type share a text, for each has a cached plan in every connection. A lone `*` is every event. */
export function isOfType(
  column: RawBuilder<unknown>,
  eventType: string | undefined,
): RawBuilder<boolean>[] {
  if (eventType === undefined || eventType === '*') return []
  const pattern = eventType.endsWith('*')
    ? `${likePattern(eventType.slice(0, -1))}%`
    : likePattern(eventType)
  return [sql<boolean>`${column} like ${pattern}`]
}

/** The conditions of a list that an index may serve, without its order. */
export function where(filter: EventFilter): RawBuilder<unknown> {
  const { projectId, sourceId, status, fromId, untilId, afterId, sortDir } = filter
  const beyond = sortDir === 'asc' ? sql`>` : sql`<`
  const conditions = [
    sql`project_id = ${projectId}::uuid`,
    ...(sourceId === undefined ? [] : [sql`source_id = ${sourceId}::uuid`]),
    ...(status === undefined ? [] : [sql`status = ${status}`]),
    ...(fromId === undefined ? [] : [sql`id >= ${fromId}::uuid`]),
    ...(untilId === undefined ? [] : [sql`id < ${untilId}::uuid`]),
    ...(afterId === undefined ? [] : [sql`id ${beyond} ${afterId}::uuid`]),
  ]
  return sql.join(conditions, sql` and `)
}

export function order({ sortDir }: EventFilter): RawBuilder<unknown> {
  return sql`order by id ${sql.raw(sortDir)}`
}

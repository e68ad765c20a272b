import { sql, type RawBuilder } from 'kysely'

import { decodeId } from '../../ids.ts'
import type { Db } from '../connection/db.ts'
import { isOfType, order, SUMMARY, where, type EventFilter, type EventSummary } from './events.ts'
import { likePattern, marksOf, patternOf, type Writing } from './search-pattern.ts'

/** How far one step of a search reads: rows, and bytes of bodies. */
export interface SearchStep {
  rows: number
  bytes: number
}

/** The beginning of an event's id, with its prefix or down to its millisecond. */
const ID_START = /^(?:evt_(?:[0-7][0-9a-hjkmnp-tv-z]{0,25})?|[0-7][0-9a-hjkmnp-tv-z]{9,25})$/
const ID_LETTERS = 26

/**
 * The body as text. A body that is not UTF-8 is read byte by byte, which shows its ASCII; that of a mail is always UTF-8, and
 * `is_binary` says how the mail itself came. Text in PostgreSQL cannot hold NUL.
 */
const BODY = sql`case
  when position(decode('00', 'hex') in raw) > 0 then encode(raw, 'escape')
  when is_binary and mail is null then convert_from(raw, 'LATIN1')
  else convert_from(raw, 'UTF8') end`

const IS_FORM = sql`coalesce(content_type ilike 'application/x-www-form-urlencoded%', false)`

/** Knows the cases of every letter, whatever the locale of the database; migration 0009 makes it. */
const FOLDING = sql`collate search_text`

/**
 * Makes a step of a search. Returns the next events, in order, whose id begins with `term`, or whose type, idempotency key
 * or body contains it, and the last id that was read; undefined when there are no more events.
 */
export async function searchEvents(
  db: Db,
  filter: EventFilter,
  term: string,
  step: SearchStep,
): Promise<{ found: EventSummary[]; searchedId: string | undefined; isLast: boolean }> {
  const dir = sql.raw(filter.sortDir)
  // The sum counts the bodies before a row's own, so that a step always reads at least one.
  const { rows } = await sql<
    EventSummary & { isMatch: boolean; readRows: number; stepRows: number }
  >`
    select ${SUMMARY}, "isMatch", "readRows", "stepRows"
    from (
      select *, count(*) over () as "readRows", row_number() over (order by id ${dir}) as place,
        (${typed(filter, matches(term))}) is true as "isMatch"
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

/** The events of a list that are named whole: by their id, or by the idempotency key of one of the project's sources. */
export async function namedEvents(
  db: Db,
  filter: EventFilter,
  name: { id: string | undefined; key: string | undefined },
): Promise<EventSummary[]> {
  const ids = name.id === undefined ? [] : [name.id]
  if (name.key !== undefined) {
    const { rows } = await sql<{ id: string }>`
      select k.event_id as id from source s cross join lateral (
        select event_id from dedupe_key where source_id = s.id and key = decode(${name.key}, 'hex')) k
      where s.project_id = ${filter.projectId}::uuid`.execute(db)
    ids.push(...rows.map((row) => row.id))
  }
  if (ids.length === 0) return []
  const { rows } = await sql<EventSummary>`
    select ${SUMMARY} from event where id = any(${ids}::uuid[]) and ${where(filter)} and ${typed(filter, sql`true`)} ${order(filter)}`.execute(
    db,
  )
  return rows
}

/** The first event from `fromId` on whose transaction is not below `settledBelow`: another may still come before it. */
export async function firstUnsettledId(
  db: Db,
  filter: EventFilter,
  fromId: string,
  settledBelow: bigint,
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from event
    where ${where(filter)} and id >= ${fromId}::uuid and transaction_id >= ${String(settledBelow)}::xid8
    order by id limit 1`.execute(db)
  return rows[0]?.id
}

/** No index has the type, so that it narrows what was read. Bodies of other types are not looked at. */
function typed({ eventType }: EventFilter, condition: RawBuilder<boolean>): RawBuilder<boolean> {
  const [isTyped] = isOfType(sql`event_type`, eventType)
  return isTyped === undefined ? condition : sql`case when ${isTyped} then ${condition} end`
}

function matches(term: string): RawBuilder<boolean> {
  const pattern = `%${likePattern(term)}%`
  return sql<boolean>`${isNamedBy(term.toLowerCase())} or event_type ilike ${pattern} ${FOLDING}
    or idempotency_key ilike ${pattern} or ${BODY} ilike ${pattern} ${FOLDING}
    or case when ${IS_FORM} then ${isWritten(term, 'form')} else ${isWritten(term, 'json')} end`
}

/** Whether the body holds the term as escapes. Most bodies have none, and are not looked at again. */
function isWritten(term: string, writing: Writing): RawBuilder<boolean> {
  const marks = marksOf(term, writing).map(
    (mark) => sql`position(${Buffer.from(mark)}::bytea in raw) > 0`,
  )
  return sql<boolean>`(${sql.join(marks, sql` or `)}) and ${BODY} ~* (${patternOf(term, writing)}::text ${FOLDING})`
}

/** Ids that begin alike lie side by side. */
function isNamedBy(term: string): RawBuilder<boolean> {
  if (!ID_START.test(term)) return sql<boolean>`false`
  const letters = term.replace('evt_', '')
  const first = decodeId('evt', `evt_${letters.padEnd(ID_LETTERS, '0')}`)
  const last = decodeId('evt', `evt_${(letters || '7').padEnd(ID_LETTERS, 'z')}`)
  return sql<boolean>`id between ${first}::uuid and ${last}::uuid`
}

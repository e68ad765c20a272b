import { sql, type Selectable } from 'kysely'

import type { Db } from '../connection/db.ts'
import { withinReach, type Reach } from '../lists/page.ts'
import {
  OPERATION_KINDS,
  OPERATION_STATUSES,
  selectedOf,
  type OperationKind,
  type OperationStatus,
  type SelectedDeliveries,
  type SelectedEvents,
} from './operation-kinds.ts'
import type { OperationTable } from './tables.ts'

/** A delivery that could not be cancelled yet, and how often that was tried. */
export interface LeftOver {
  retentionClass: number
  id: string
  tries: number
}

interface Counted {
  id: string
  organisationId: string
  projectId: string
  status: OperationStatus
  matched: number
  /** There are at least `matched`. */
  isTruncated: boolean
  processed: number
  /** Processed items that were refused, counted by reason. */
  failures: Record<string, number>
  /** Every item up to this id was processed, except the left-over ones. */
  afterId: string | null
  leftOver: LeftOver[]
  /** Grows with each chunk. */
  turns: number
  finishedAt: Date | null
}

export type DeliveryOperation = Counted & SelectedDeliveries

export type EventOperation = Counted & SelectedEvents

export type Operation = DeliveryOperation | EventOperation

export interface OperationPage {
  limit: number
  sortDir: 'asc' | 'desc'
  /** The last id of the page before. */
  afterId: string | undefined
}

/** Reads one more row than the page holds, to tell whether there is another page. */
export async function listOperations(
  db: Db,
  projectId: string,
  filter: { kind: string | undefined; status: string | undefined },
  { limit, sortDir, afterId }: OperationPage,
): Promise<Operation[]> {
  let query = db.selectFrom('operation').selectAll().where('project_id', '=', projectId)
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind)
  if (filter.status !== undefined) query = query.where('status', '=', filter.status)
  if (afterId !== undefined) query = query.where('id', sortDir === 'asc' ? '>' : '<', afterId)
  const rows = await query
    .orderBy('id', sortDir)
    .limit(limit + 1)
    .execute()
  return rows.map(toOperation)
}

/** Undefined when the operation is absent or out of reach: the caller must not tell which. */
export async function findOperation(
  db: Db,
  reach: Reach,
  id: string,
  options?: { lock: boolean },
): Promise<Operation | undefined> {
  let query = db.selectFrom('operation').selectAll().where('id', '=', id).where(withinReach(reach))
  if (options?.lock === true) query = query.forUpdate()
  const row = await query.executeTakeFirst()
  return row && toOperation(row)
}

/** How many run in a project. The project is locked, so that two are not made on one count. */
export async function countRunning(tx: Db, projectId: string): Promise<number> {
  await sql`select from project where id = ${projectId}::uuid for no key update`.execute(tx)
  const { rows } = await sql<{ running: number }>`
    select count(*)::int as running from operation
    where project_id = ${projectId}::uuid and status = 'running'`.execute(tx)
  return rows[0]?.running ?? 0
}

export async function insertOperation(tx: Db, operation: Operation, now: Date): Promise<void> {
  await tx
    .insertInto('operation')
    .values({
      id: operation.id,
      organisation_id: operation.organisationId,
      project_id: operation.projectId,
      kind: operation.kind,
      status: operation.status,
      selection: JSON.stringify(operation.selection),
      matched: operation.matched,
      is_truncated: operation.isTruncated,
      due_at: now,
    })
    .execute()
}

/** Ends it as it stands. Call it with the operation locked. */
export async function cancelOperation(tx: Db, id: string, now: Date): Promise<void> {
  await tx
    .updateTable('operation')
    .set({ status: 'cancelled', finished_at: now })
    .where('id', '=', id)
    .execute()
}

/** Returns the operation of each organisation that has waited longest, in the order of waiting. */
export async function dueOperations(db: Db, now: Date, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from (
      select distinct on (organisation_id) id, worked_at from operation
      where status = 'running' and due_at <= ${now}
        and exists (select from organisation o where o.id = organisation_id and o.state = 'running')
      order by organisation_id, worked_at nulls first, id
    ) as due
    order by worked_at nulls first, id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Undefined when it is finished or deleted. */
export async function findRunning(db: Db, id: string): Promise<Operation | undefined> {
  const row = await db
    .selectFrom('operation')
    .selectAll()
    .where('id', '=', id)
    .where('status', '=', 'running')
    .executeTakeFirst()
  return row && toOperation(row)
}

/**
 * Locks a running operation to the end of the transaction. Undefined when it is no longer as it was found: ended, or
 * moved on by another process.
 */
export async function takeRunning(
  tx: Db,
  { id, turns }: Pick<Operation, 'id' | 'turns'>,
): Promise<Operation | undefined> {
  const row = await tx
    .selectFrom('operation')
    .selectAll()
    .where('id', '=', id)
    .where('status', '=', 'running')
    .where('turns', '=', turns)
    .forUpdate()
    .executeTakeFirst()
  return row && toOperation(row)
}

/** The counts of a chunk. */
export interface Progress {
  processed: number
  failures: Record<string, number>
  afterId: string | null
  leftOver: LeftOver[]
  /** There is nothing more behind `afterId`. */
  isLast: boolean
}

/**
 * To be called in the transaction of the chunk itself, so that neither exists without the other. Returns the operation
 * as it is now.
 */
export async function advanceOperation(
  tx: Db,
  operation: Operation,
  { processed, failures, afterId, leftOver, isLast }: Progress,
  now: Date,
): Promise<Operation> {
  const isDone = isLast && leftOver.length === 0
  const sum = operation.processed + processed
  const reasons = { ...operation.failures }
  for (const [reason, count] of Object.entries(failures)) {
    reasons[reason] = (reasons[reason] ?? 0) + count
  }
  const row = await tx
    .updateTable('operation')
    .set({
      processed: sum,
      failures: JSON.stringify(reasons),
      after_id: afterId,
      left_over: JSON.stringify(
        leftOver.map(({ retentionClass, ...rest }) => ({ class: retentionClass, ...rest })),
      ),
      turns: operation.turns + 1,
      // Once it has seen all, what matched is what it saw.
      matched: isDone ? sum : Math.max(operation.matched, sum + leftOver.length),
      worked_at: now,
      ...(isDone && { status: 'completed', is_truncated: false, finished_at: now }),
    })
    .where('id', '=', operation.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return toOperation(row)
}

/** Not before `dueAt`; the organisation's others come first. */
export async function postponeOperation(
  db: Db,
  id: string,
  { now, dueAt }: { now: Date; dueAt: Date },
): Promise<void> {
  await db
    .updateTable('operation')
    .set({ worked_at: now, due_at: dueAt })
    .where('id', '=', id)
    .execute()
}

/**
 * The deliveries of an operation that wait for their one attempt, counted up to `limit`. Deliveries to a disabled
 * destination are left out: they may wait for ever. A delivery that failed and waits again has left its operation; a worker
 * of the previous version does not clear the mark, hence the check of triggers.
 */
export async function countOutstanding(db: Db, id: string, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select from delivery_waiting w join destination t on t.id = w.destination_id
      where w.operation_id = ${id}::uuid and w.attempt_trigger in ('bulk', 'initial') and t.is_enabled
      limit ${limit}
    ) as outstanding`.execute(db)
  return rows[0]?.count ?? 0
}

/** Returns how many were deleted. */
export async function deleteOldOperations(db: Db, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from operation where id in (
      select id from operation where finished_at < ${before} order by finished_at limit ${limit})`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0)
}

function toOperation(row: Selectable<OperationTable>): Operation {
  return {
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    ...selectedOf(kindOf(row.kind), row.selection),
    status: statusOf(row.status),
    matched: row.matched,
    isTruncated: row.is_truncated,
    processed: row.processed,
    failures: row.failures,
    afterId: row.after_id,
    leftOver: row.left_over.map(({ class: retentionClass, ...rest }) => ({
      retentionClass,
      ...rest,
    })),
    turns: row.turns,
    finishedAt: row.finished_at,
  }
}

function statusOf(text: string): OperationStatus {
  const status = OPERATION_STATUSES.find((known) => known === text)
  if (status === undefined) throw new Error(`No status of an operation: ${text}`)
  return status
}

function kindOf(text: string): OperationKind {
  const kind = OPERATION_KINDS.find((known) => known === text)
  if (kind === undefined) throw new Error(`No kind of operation: ${text}`)
  return kind
}

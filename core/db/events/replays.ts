import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'
import { withoutPruning } from '../connection/partition-pruning.ts'
import type { EventBody } from './bodies.ts'
import type { Event } from './events.ts'

/** A new delivery of an event that is already stored. */
export interface ReplayDelivery {
  retentionClass: number
  id: string
  eventId: string
  connectionId: string
  destinationId: string
  sourceId: string
  organisationId: string
  projectId: string
  maxAttempts: number
  partition: number
}

/** Rows of one statement: PostgreSQL takes 65,535 parameters. */
const INSERT_MAX = 1_000

/**
 * Inserts waiting deliveries: a person's are due now, an operation's wait in their lanes. Call it in the transaction that
 * decides them.
 */
export async function insertReplay(
  tx: Db,
  deliveries: readonly ReplayDelivery[],
  options: { now: Date; operationId: string | null },
): Promise<void> {
  for (let from = 0; from < deliveries.length; from += INSERT_MAX) {
    await insertWaiting(tx, deliveries.slice(from, from + INSERT_MAX), options)
  }
}

async function insertWaiting(
  tx: Db,
  deliveries: readonly ReplayDelivery[],
  { now, operationId }: { now: Date; operationId: string | null },
): Promise<void> {
  await tx
    .insertInto('delivery')
    .values(
      deliveries.map((delivery) => ({
        class: delivery.retentionClass,
        id: delivery.id,
        event_id: delivery.eventId,
        connection_id: delivery.connectionId,
        destination_id: delivery.destinationId,
        source_id: delivery.sourceId,
        project_id: delivery.projectId,
        status: 'pending',
        trigger: 'replay',
        max_attempts: delivery.maxAttempts,
      })),
    )
    .execute()
  await tx
    .insertInto('delivery_waiting')
    .values(
      deliveries.map((delivery) => ({
        delivery_id: delivery.id,
        class: delivery.retentionClass,
        organisation_id: delivery.organisationId,
        project_id: delivery.projectId,
        destination_id: delivery.destinationId,
        connection_id: delivery.connectionId,
        source_id: delivery.sourceId,
        partition: delivery.partition,
        status: 'pending',
        attempt_trigger: 'initial',
        next_at: operationId === null ? now : null,
        operation_id: operationId,
      })),
    )
    .execute()
}

/** An event as the filters of connections look at it. */
export type ReplayableEvent = Pick<EventBody, 'raw'> &
  Pick<
    Event,
    | 'retentionClass'
    | 'id'
    | 'organisationId'
    | 'projectId'
    | 'sourceId'
    | 'status'
    | 'eventType'
    | 'headers'
    | 'query'
    | 'contentType'
  >

/**
 * By id. Without `withBodies` every body is empty: for filters that do not look at it. To the end of the transaction
 * they are neither purged nor moved to another class.
 */
export async function readReplayable(
  tx: Db,
  events: readonly { id: string }[],
  { withBodies }: { withBodies: boolean },
): Promise<Map<string, ReplayableEvent>> {
  const ids = events.map(({ id }) => id)
  await withoutPruning(tx)
  const { rows } = await sql<ReplayableEvent>`
    select class as "retentionClass", id, organisation_id as "organisationId", project_id as "projectId", source_id as "sourceId", status,
      event_type as "eventType", headers, query, content_type as "contentType",
      case when ${withBodies} then raw else ''::bytea end as raw
    from event where id = any(${ids}::uuid[]) for key share`.execute(tx)
  return new Map(rows.map((row) => [row.id, row]))
}

/** Counts without a limit: a row that the housekeeper folds. */
export async function countUsage(
  db: Db,
  organisationId: string,
  deliveries: number,
  now: Date,
): Promise<void> {
  await db
    .insertInto('usage_delta')
    .values({ organisation_id: organisationId, at: now, deliveries })
    .execute()
}

/**
 * The deliveries counted for a hard-capped organisation before these; its row stays locked to the end of the
 * transaction, so that two of them never pass the limit on one count. Call it late.
 */
export async function countCappedUsage(
  db: Db,
  organisationId: string,
  deliveries: number,
  windowStartedAt: Date,
): Promise<number> {
  const { rows } = await sql<{ deliveries: number }>`
    insert into usage (organisation_id, window_started_at, deliveries)
    values (${organisationId}, ${windowStartedAt}, ${deliveries})
    on conflict (organisation_id, window_started_at) do update
      set deliveries = usage.deliveries + excluded.deliveries, closed_at = null
    returning deliveries`.execute(db)
  return (rows[0]?.deliveries ?? deliveries) - deliveries
}

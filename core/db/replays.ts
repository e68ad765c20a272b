import { sql } from 'kysely'

import type { Db } from './db.ts'

/** A new delivery of an event that is already stored. */
export interface ReplayDelivery {
  class: number
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

/** Deliveries that wait, due now, and their use of the quota. One transaction with what decided them. */
export async function insertReplay(
  db: Db,
  deliveries: readonly ReplayDelivery[],
  now: Date,
): Promise<void> {
  if (deliveries.length === 0) return
  await db
    .insertInto('delivery')
    .values(
      deliveries.map((delivery) => ({
        class: delivery.class,
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
  await db
    .insertInto('delivery_waiting')
    .values(
      deliveries.map((delivery) => ({
        delivery_id: delivery.id,
        class: delivery.class,
        organisation_id: delivery.organisationId,
        project_id: delivery.projectId,
        destination_id: delivery.destinationId,
        partition: delivery.partition,
        status: 'pending',
        attempt_trigger: 'initial',
        next_at: now,
      })),
    )
    .execute()
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
 * transaction, so that two of them never pass the limit on one count. Call it last.
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
      set deliveries = usage.deliveries + excluded.deliveries
    returning deliveries`.execute(db)
  return (rows[0]?.deliveries ?? deliveries) - deliveries
}

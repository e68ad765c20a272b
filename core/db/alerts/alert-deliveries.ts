import { newId } from '../../ids.ts'
import type { Destination } from '../configuration/destinations.ts'
import type { Db } from '../connection/db.ts'

const CONTENT_TYPE = 'application/json'

export interface AlertDelivery {
  class: number
  /** The event's, which is the notification's as well. */
  id: string
  destination: Pick<Destination, 'id' | 'organisationId' | 'projectId' | 'retryPolicy'>
  partition: number
  eventType: string
  body: string
}

/**
 * Stores what is sent as an event and its delivery, which is due now, and returns the delivery's id. Call it in the
 * transaction that decides to tell. Without a source and a connection it is in no statistics, so that its destination
 * never counts as failing, and it is in no quota.
 */
export async function insertAlertDelivery(
  tx: Db,
  { class: retentionClass, id, destination, partition, eventType, body }: AlertDelivery,
  nowMs: number,
): Promise<string> {
  const { organisationId, projectId } = destination
  const raw = Buffer.from(body)
  const deliveryId = newId(nowMs)
  const place = { class: retentionClass, project_id: projectId }
  await tx
    .insertInto('event')
    .values({
      ...place,
      id,
      organisation_id: organisationId,
      source_id: destination.id,
      status: 'received',
      event_type: eventType,
      idempotency_key: null,
      rejection_reason: null,
      verified_with: 'none',
      method: 'POST',
      path: '',
      query: '',
      headers: JSON.stringify([['content-type', CONTENT_TYPE]]),
      content_type: CONTENT_TYPE,
      size_bytes: raw.length,
      is_binary: false,
      remote_ip: '',
      raw,
      outcomes: null,
      verified_us: 0,
      matched_us: 0,
    })
    .execute()
  await tx
    .insertInto('delivery')
    .values({
      ...place,
      id: deliveryId,
      event_id: id,
      connection_id: null,
      destination_id: destination.id,
      source_id: null,
      status: 'pending',
      trigger: 'ingest',
      max_attempts: destination.retryPolicy.maxAttempts,
    })
    .execute()
  await tx
    .insertInto('delivery_waiting')
    .values({
      ...place,
      delivery_id: deliveryId,
      organisation_id: organisationId,
      destination_id: destination.id,
      partition,
      status: 'pending',
      attempt_trigger: 'initial',
      next_at: new Date(nowMs),
      operation_id: null,
    })
    .execute()
  return deliveryId
}

/** A delivery of a notification, or a test. */
export interface SentAlert {
  deliveryId: string
  /** Null for a test. */
  type: string | null
  status: string
  attempts: number
  lastError: string | null
}

/** The newest deliveries to the endpoint, newest first. */
export async function sentAlerts(
  db: Db,
  destinationId: string,
  limit: number,
): Promise<SentAlert[]> {
  return await db
    .selectFrom('delivery')
    .leftJoin('alert_notification', 'alert_notification.id', 'delivery.event_id')
    .select(['delivery.id as deliveryId', 'alert_notification.type', 'delivery.status'])
    .select(['delivery.attempt_number as attempts', 'delivery.last_error as lastError'])
    .where('delivery.destination_id', '=', destinationId)
    .orderBy('delivery.id', 'desc')
    .limit(limit)
    .execute()
}

import type { Db } from '../../connection/db.ts'
import type { DeliveryResult } from './record-results.ts'

export interface FinishedTest {
  retentionClass: number
  deliveryId: string
  destinationId: string
  projectId: string
  /** In the place of an event's. */
  headers: [string, string][]
  attempt: DeliveryResult['attempt']
}

/** A test delivery with its one attempt, both over: nothing of it ever waits, and no count is kept of it. */
export async function insertTestDelivery(db: Db, test: FinishedTest): Promise<void> {
  const { attempt, deliveryId } = test
  const startedAt = new Date(attempt.startedAtMs)
  const hasSucceeded = attempt.outcome === 'succeeded'
  await db.transaction().execute(async (tx) => {
    await tx
      .insertInto('delivery')
      .values({
        class: test.retentionClass,
        id: deliveryId,
        event_id: null,
        connection_id: null,
        destination_id: test.destinationId,
        source_id: null,
        project_id: test.projectId,
        status: hasSucceeded ? 'succeeded' : 'failed',
        trigger: 'test',
        attempt_count: 1,
        attempt_number: attempt.number,
        max_attempts: 1,
        last_error: attempt.errorCode,
        first_attempt_at: startedAt,
        last_attempt_at: startedAt,
        last_response_status: attempt.responseStatus,
        last_error_code: attempt.errorCode,
        last_duration_ms: attempt.durationMs,
        completed_at: new Date(attempt.startedAtMs + attempt.durationMs),
      })
      .execute()
    await tx
      .insertInto('attempt')
      .values({
        class: test.retentionClass,
        delivery_id: deliveryId,
        number: attempt.number,
        id: attempt.id,
        trigger: attempt.trigger,
        outcome: attempt.outcome,
        started_at: startedAt,
        duration_ms: attempt.durationMs,
        dns_ms: attempt.dnsMs,
        connect_ms: attempt.connectMs,
        tls_ms: attempt.tlsMs,
        first_byte_ms: attempt.firstByteMs,
        url: attempt.url,
        signature: attempt.signature,
        header_names: attempt.headerNames,
        given_headers: JSON.stringify(test.headers),
        response_status: attempt.responseStatus,
        response_headers: attempt.responseHeaders,
        response_body: attempt.responseBody,
        error_code: attempt.errorCode,
        replica_id: attempt.replicaId,
      })
      .execute()
    if (hasSucceeded) return
    await tx
      .insertInto('delivery_failed')
      .values({
        delivery_id: deliveryId,
        class: test.retentionClass,
        project_id: test.projectId,
        destination_id: test.destinationId,
        error_code: attempt.errorCode,
        response_status: attempt.responseStatus,
      })
      .execute()
  })
}

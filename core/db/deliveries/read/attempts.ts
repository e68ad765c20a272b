import { sql } from 'kysely'

import type { AttemptErrorCode } from '../../../delivery/attempt-error.ts'
import type { AttemptOutcome, AttemptTrigger } from '../../../delivery/states.ts'
import type { Db } from '../../connection/db.ts'

export interface Attempt {
  deliveryId: string
  number: number
  id: string
  trigger: AttemptTrigger
  outcome: AttemptOutcome
  startedAt: Date
  durationMs: number
  dnsMs: number | null
  connectMs: number | null
  tlsMs: number | null
  firstByteMs: number | null
  url: string
  signature: string
  /** JSON of names; null when the destination had no headers of its own. */
  headerNames: string | null
  /** JSON of the headers that took an event's place; null when there is an event. */
  givenHeaders: string | null
  responseStatus: number | null
  /** JSON of [name, value] pairs. */
  responseHeaders: string | null
  responseBody: Buffer | null
  errorCode: AttemptErrorCode | null
  replicaId: string | null
}

/** The newest attempts of each delivery, at most `limit` of each, in order of their numbers. */
export async function attemptsOf(
  db: Db,
  deliveries: readonly { retentionClass: number; id: string }[],
  limit: number,
): Promise<Map<string, Attempt[]>> {
  const classes = deliveries.map((delivery) => delivery.retentionClass)
  const ids = deliveries.map((delivery) => delivery.id)
  // Said twice: by what is given, the planner leaves out the partitions of other days.
  const { rows } = await sql<Attempt>`
    select a.delivery_id as "deliveryId", a.number, a.id, a.trigger, a.outcome, a.started_at as "startedAt",
      a.duration_ms as "durationMs", a.dns_ms as "dnsMs", a.connect_ms as "connectMs", a.tls_ms as "tlsMs",
      a.first_byte_ms as "firstByteMs", a.url, a.signature, a.header_names as "headerNames",
      a.given_headers as "givenHeaders",
      a.response_status as "responseStatus", a.response_headers as "responseHeaders",
      a.response_body as "responseBody", a.error_code as "errorCode", a.replica_id as "replicaId"
    from unnest(${classes}::int2[], ${ids}::uuid[]) as d (class, id)
    cross join lateral (
      select * from attempt
      where class = d.class and delivery_id = d.id and class = any(${[...new Set(classes)]}::int2[]) and delivery_id = any(${ids}::uuid[])
      order by number desc limit ${limit}) a
    order by a.delivery_id, a.number`.execute(db)
  return Map.groupBy(rows, (attempt) => attempt.deliveryId)
}

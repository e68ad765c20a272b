import { decodeId, encodeId, newId } from '../../core/ids.ts'
import type { World } from './world.ts'

/** Options of a seeded event; the rest is a small JSON webhook. */
export interface SeededEvent {
  sourceId: string
  /** The retention class; 90 unless told. */
  retentionClass?: number
  projectId?: string
  organisationId?: string
  status?: string
  eventType?: string | null
  idempotencyKey?: string | null
  rejectionReason?: string | null
  contentType?: string | null
  headers?: [string, string][]
  query?: string
  raw?: string | Uint8Array
  outcomes?: { connectionId: string; outcome: string; failedPart?: string }[]
  atMs?: number
  /** A uuid that was made before: an event that is committed late. */
  id?: string
}

/** Stores an event as ingest would. Ids are TypeIDs. */
export async function seedEvent(world: World, seed: SeededEvent): Promise<string> {
  const id = seed.id ?? newId(seed.atMs ?? world.clock.now())
  const raw = Buffer.from(seed.raw ?? '{"type":"order.paid","amount":12}')
  await world.db
    .insertInto('event')
    .values({
      class: seed.retentionClass ?? 90,
      id,
      organisation_id: uuid('org', seed.organisationId ?? world.organisationId),
      project_id: uuid('prj', seed.projectId ?? world.projectId),
      source_id: uuid('src', seed.sourceId),
      status: seed.status ?? 'received',
      event_type: seed.eventType === undefined ? 'order.paid' : seed.eventType,
      idempotency_key: seed.idempotencyKey ?? null,
      rejection_reason: seed.rejectionReason ?? null,
      verified_with: 'none',
      method: 'POST',
      path: '',
      query: seed.query ?? '',
      headers: JSON.stringify(seed.headers ?? [['Content-Type', 'application/json']]),
      content_type: seed.contentType === undefined ? 'application/json' : seed.contentType,
      size_bytes: raw.length,
      is_binary: !isUtf8(raw),
      remote_ip: '192.0.2.7',
      raw,
      outcomes:
        seed.outcomes === undefined
          ? null
          : JSON.stringify(
              seed.outcomes.map((one) => ({
                ...one,
                connectionId: uuid('con', one.connectionId),
              })),
            ),
      verified_us: 250,
      matched_us: 40,
    })
    .execute()
  return encodeId('evt', id)
}

export interface SeededDelivery {
  eventId: string | null
  retentionClass?: number
  connectionId: string | null
  destinationId: string
  sourceId: string | null
  projectId?: string
  organisationId?: string
  status?: string
  attemptCount?: number
  leaseUntil?: Date | null
  throttledReason?: string | null
  throttledAt?: Date | null
  lastError?: string | null
  lastErrorCode?: string | null
  lastResponseStatus?: number | null
  completedAt?: Date | null
  /** Given: it has a waiting row, due then; null: parked. */
  nextAt?: Date | null
  claimedBy?: string
  atMs?: number
}

/** Stores a delivery as worker and ingest would: with its waiting or failed row. Ids are TypeIDs. */
export async function seedDelivery(world: World, seed: SeededDelivery): Promise<string> {
  const id = newId(seed.atMs ?? world.clock.now())
  const status = seed.status ?? 'succeeded'
  const projectId = uuid('prj', seed.projectId ?? world.projectId)
  const hasAttempt = seed.lastErrorCode !== undefined || seed.lastResponseStatus !== undefined
  await world.db
    .insertInto('delivery')
    .values({
      class: seed.retentionClass ?? 90,
      id,
      event_id: seed.eventId === null ? null : uuid('evt', seed.eventId),
      connection_id: seed.connectionId === null ? null : uuid('con', seed.connectionId),
      destination_id: uuid('dst', seed.destinationId),
      source_id: seed.sourceId === null ? null : uuid('src', seed.sourceId),
      project_id: projectId,
      status,
      trigger: seed.eventId === null ? 'test' : 'ingest',
      attempt_count: seed.attemptCount ?? (hasAttempt ? 1 : 0),
      max_attempts: 8,
      lease_until: seed.leaseUntil ?? null,
      throttled_reason: seed.throttledReason ?? null,
      throttled_at: seed.throttledAt ?? null,
      last_error: seed.lastError ?? seed.lastErrorCode ?? null,
      last_attempt_at: hasAttempt ? new Date(world.clock.now()) : null,
      last_response_status: seed.lastResponseStatus ?? null,
      last_error_code: seed.lastErrorCode ?? null,
      last_duration_ms: hasAttempt ? 12.5 : null,
      completed_at: seed.completedAt ?? null,
    })
    .execute()
  if (seed.nextAt !== undefined) {
    await world.db
      .insertInto('delivery_waiting')
      .values({
        delivery_id: id,
        class: seed.retentionClass ?? 90,
        organisation_id: uuid('org', seed.organisationId ?? world.organisationId),
        project_id: projectId,
        destination_id: uuid('dst', seed.destinationId),
        connection_id: seed.connectionId === null ? null : uuid('con', seed.connectionId),
        source_id: seed.sourceId === null ? null : uuid('src', seed.sourceId),
        partition: 0,
        status,
        attempt_trigger: 'automatic',
        next_at: seed.nextAt,
        claimed_by: seed.claimedBy ?? null,
        error_code: seed.lastErrorCode ?? null,
        response_status: seed.lastResponseStatus ?? null,
      })
      .execute()
  }
  if (status === 'failed' || status === 'cancelled') {
    await world.db
      .insertInto('delivery_failed')
      .values({
        delivery_id: id,
        class: seed.retentionClass ?? 90,
        project_id: projectId,
        destination_id: uuid('dst', seed.destinationId),
        connection_id: seed.connectionId === null ? null : uuid('con', seed.connectionId),
        source_id: seed.sourceId === null ? null : uuid('src', seed.sourceId),
        status,
        error_code: seed.lastErrorCode ?? null,
        response_status: seed.lastResponseStatus ?? null,
      })
      .execute()
  }
  return encodeId('dlv', id)
}

/** Stores one attempt of a delivery. */
export async function seedAttempt(
  world: World,
  seed: {
    deliveryId: string
    retentionClass?: number
    number: number
    headerNames?: string[]
    errorCode?: string
  },
): Promise<void> {
  const startedAt = new Date(world.clock.now())
  await world.db
    .insertInto('attempt')
    .values({
      class: seed.retentionClass ?? 90,
      delivery_id: uuid('dlv', seed.deliveryId),
      number: seed.number,
      id: newId(startedAt.getTime()),
      trigger: seed.number === 1 ? 'initial' : 'automatic',
      outcome: seed.errorCode === undefined ? 'succeeded' : 'failed',
      started_at: startedAt,
      duration_ms: 12.5,
      dns_ms: null,
      connect_ms: 1.25,
      tls_ms: null,
      first_byte_ms: 11,
      url: 'http://127.0.0.1:9/hook',
      signature: 'v1,c2lnbmF0dXJl',
      header_names: seed.headerNames === undefined ? null : JSON.stringify(seed.headerNames),
      response_status: seed.errorCode === undefined ? 200 : null,
      response_headers:
        seed.errorCode === undefined ? JSON.stringify([['content-type', 'text/plain']]) : null,
      response_body: seed.errorCode === undefined ? Buffer.from('thanks') : null,
      error_code: seed.errorCode ?? null,
    })
    .execute()
}

/** A resource of each kind, made through the API, in a project of a tenant. */
export interface SeededRoute {
  sourceId: string
  destinationId: string
  connectionId: string
}

export async function seedRoute(world: World, name: string, key = world.key): Promise<SeededRoute> {
  const make = async (path: string, body: unknown): Promise<string> => {
    const answer = await world.api('POST', path, body, { key })
    if (answer.status !== 201) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body.id
  }
  const sourceId = await make('/v1/sources', { name })
  const destinationId = await make('/v1/destinations', { name, url: 'http://127.0.0.1:9/hook' })
  const connectionId = await make('/v1/connections', { name, sourceId, destinationId })
  return { sourceId, destinationId, connectionId }
}

export function uuid(prefix: Parameters<typeof decodeId>[0], id: string): string {
  const decoded = decodeId(prefix, id)
  if (decoded === undefined) throw new Error(`Not an id: ${id}`)
  return decoded
}

function isUtf8(bytes: Buffer): boolean {
  return bytes.equals(Buffer.from(bytes.toString('utf8')))
}

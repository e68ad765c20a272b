import { sql } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'

import { RetryPolicy } from '../../../delivery/retry.ts'
import { IngestResponse } from '../../../verify/config/ingest-response.ts'
import { SUBSCRIPTION_COLUMNS } from '../../billing/subscriptions.ts'
import { shareOf } from '../../configuration/organisation-shares.ts'
import { timeArray, uuidArray } from '../../connection/binary-arrays.ts'
import type { Db } from '../../connection/db.ts'

/** A source's row with its connections and its organisation's plan, as ingest needs it, read at one moment. */
export type IngestSourceRow = NonNullable<Awaited<ReturnType<typeof findIngestSource>>>

/** Undefined when no source has the mask id; a disabled one is returned as such. */
export async function findIngestSource(db: Db, maskId: string) {
  const row = await db
    .selectFrom('source')
    .innerJoin('organisation', 'organisation.id', 'source.organisation_id')
    .leftJoin('subscription', 'subscription.organisation_id', 'organisation.id')
    .select((query) => [
      'source.id',
      'source.organisation_id as organisationId',
      shareOf.as('share'),
      'source.project_id as projectId',
      'source.name',
      'source.kind',
      'source.mask_id as maskId',
      'source.is_enabled as isEnabled',
      'source.verifier',
      'source.secrets',
      'source.previous_secret_expires_at as previousSecretExpiresAt',
      'source.rotation_id as rotationId',
      'source.event_type_field as eventTypeField',
      'source.idempotency_keys as idempotencyKeys',
      'source.allowed_methods as allowedMethods',
      'source.max_payload_size_kb as maxPayloadSizeKb',
      'source.ingest_response as ingestResponse',
      'source.handshake',
      'source.rate_limit as rateLimit',
      sql<boolean>`organisation.state = 'closed'`.as('isClosed'),
      'organisation.plan as ownPlan',
      ...SUBSCRIPTION_COLUMNS,
      'organisation.overrides',
      'organisation.retention_class as retentionClass',
      jsonArrayFrom(
        query
          .selectFrom('connection')
          .innerJoin('destination', 'destination.id', 'connection.destination_id')
          .select([
            'connection.id',
            'connection.is_enabled as isEnabled',
            sql<
              string | null
            >`case when connection.filter is not null then connection.xmin::text end`.as(
              'filterVersion',
            ),
            'connection.destination_id as destinationId',
            'destination.retry_policy as retryPolicy',
          ])
          .whereRef('connection.source_id', '=', 'source.id')
          .orderBy('connection.id'),
      ).as('connections'),
    ])
    .where('source.mask_id', '=', maskId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  return {
    ...row,
    ingestResponse: IngestResponse.parse(row.ingestResponse),
    connections: row.connections.map(({ retryPolicy, ...connection }) => ({
      ...connection,
      maxAttempts: RetryPolicy.parse(retryPolicy).maxAttempts,
    })),
  }
}

/** The filters of connections as JSON text, each with the version of its row. */
export async function connectionFilters(
  db: Db,
  ids: readonly string[],
): Promise<{ id: string; version: string; filter: string | null }[]> {
  const { rows } = await sql<{ id: string; version: string; filter: string | null }>`
    select id, xmin::text as version, filter::text as filter
    from connection where id = any(${uuidArray(ids)}::uuid[])`.execute(db)
  return rows
}

/** When each source last took an event and last answered a handshake, in milliseconds since the epoch. */
export interface SourceActivity {
  sourceId: string
  lastEventAtMs: number | null
  lastHandshakeAtMs: number | null
}

/** Kept apart from the source's row: a change there is a change of configuration. */
export async function writeActivity(db: Db, activity: readonly SourceActivity[]): Promise<void> {
  await sql`
    insert into source_activity (source_id, last_event_at, last_handshake_at)
    select * from unnest(
      ${uuidArray(activity.map((one) => one.sourceId))}::uuid[],
      ${timeArray(activity.map((one) => one.lastEventAtMs))}::timestamptz[],
      ${timeArray(activity.map((one) => one.lastHandshakeAtMs))}::timestamptz[]) as t (source_id, event_at, handshake_at)
    order by source_id
    on conflict (source_id) do update set
      last_event_at = greatest(source_activity.last_event_at, excluded.last_event_at),
      last_handshake_at = greatest(source_activity.last_handshake_at, excluded.last_handshake_at)`.execute(
    db,
  )
}

/** Keeps a secret that a provider handed over in a handshake, if the source has none yet. Returns whether it did. */
export async function captureSecret(
  db: Db,
  sourceId: string,
  secret: { secrets: Buffer; hint: string },
  nowMs: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('source')
    .set({ secrets: secret.secrets, secret_hint: secret.hint, updated_at: new Date(nowMs) })
    .where('id', '=', sourceId)
    .where('secrets', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

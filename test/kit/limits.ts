import { sql } from 'kysely'

import { announceChanges } from '../../core/notices/config-changes.ts'
import type { Relay, Resource } from './relay.ts'
import { uuid } from './seed.ts'

/** Sets a limit as support does: it is not in the management API. (spec: Fields named for other records, Source) */
export async function setRateLimit(
  relay: Relay,
  source: Resource,
  rateLimit: number,
): Promise<void> {
  const id = uuid('src', source.id)
  await sql`update source set rate_limit = ${rateLimit} where id = ${id}`.execute(relay.db)
  await announceChanges(relay, [{ kind: 'source', id }])
}

/** A negotiated plan. (decisions: Billing and plans) */
export async function setOverrides(
  relay: Relay,
  organisationId: string,
  overrides: object,
): Promise<void> {
  const id = uuid('org', organisationId)
  await sql`update organisation set overrides = ${JSON.stringify(overrides)} where id = ${id}`.execute(
    relay.db,
  )
  await announceChanges(relay, [{ kind: 'organisation', id }])
}

/** Says that the organisation has used this many deliveries in the present month; it has no subscription. */
export async function setUsage(
  relay: Relay,
  organisationId: string,
  deliveries: number,
): Promise<void> {
  await sql`
    insert into usage (organisation_id, window_started_at, deliveries)
    values (${uuid('org', organisationId)},
      date_trunc('month', ${new Date(relay.clock.now())}::timestamptz, 'UTC'), ${deliveries})
    on conflict (organisation_id, window_started_at)
      do update set deliveries = excluded.deliveries`.execute(relay.db)
}

export async function usageOf(relay: Relay, organisationId: string): Promise<number> {
  const { rows } = await sql<{ deliveries: number }>`
    select deliveries from usage where organisation_id = ${uuid('org', organisationId)}`.execute(
    relay.db,
  )
  return rows[0]?.deliveries ?? 0
}

import { sql } from 'kysely'

import type { PlanRows } from '../../../plans/standing.ts'
import { SUBSCRIPTION_COLUMNS, toSubscription } from '../../billing/subscriptions.ts'
import type { Db } from '../../connection/db.ts'

/** The deliveries counted in a window that is not closed, and the rows that decide the organisation's plan. */
export interface CountedWindow extends PlanRows {
  organisationId: string
  name: string
  windowStartedAtMs: number
  deliveries: number
}

/**
 * Windows of organisations that may have used up a part of their quota: with `atLeast` deliveries on a plan that has a
 * quota, or with a plan of their own. `among` narrows them to some organisations.
 */
export async function countedWindows(
  db: Db,
  {
    unlimitedPlans,
    atLeast,
    among,
  }: { unlimitedPlans: readonly string[]; atLeast: number; among?: readonly string[] },
): Promise<CountedWindow[]> {
  let query = db
    .selectFrom('usage')
    .innerJoin('organisation', 'organisation.id', 'usage.organisation_id')
    .leftJoin('subscription', 'subscription.organisation_id', 'organisation.id')
    .select(['organisation.id as organisationId', 'organisation.name'])
    .select(['organisation.plan as own', 'organisation.overrides'])
    .select(['usage.window_started_at', 'usage.deliveries'])
    .select(SUBSCRIPTION_COLUMNS)
    .where('usage.closed_at', 'is', null)
    .where('usage.deliveries', '>', 0)
    .where(
      sql<boolean>`(organisation.overrides <> '{}' or usage.deliveries >= ${atLeast}::int8
        and organisation.plan <> all(${[...unlimitedPlans]}::text[]))`,
    )
  if (among !== undefined) query = query.where('organisation.id', 'in', among)
  const rows = await query.execute()
  return rows.map((row) => ({
    organisationId: row.organisationId,
    name: row.name,
    plan: row.own,
    overrides: row.overrides,
    subscription: toSubscription(row),
    windowStartedAtMs: row.window_started_at.getTime(),
    deliveries: row.deliveries,
  }))
}

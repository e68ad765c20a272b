import { sql, type Selectable } from 'kysely'
import { z } from 'zod'

import { PLAN_NAMES } from '../../plans/plans.ts'
import type { PlanRows } from '../../plans/standing.ts'
import type { Subscription } from '../../plans/subscription.ts'
import { lockOrganisation } from '../configuration/organisations.ts'
import type { Db } from '../connection/db.ts'
import type { SubscriptionTable } from './tables.ts'

const Plan = z.enum(PLAN_NAMES)
const Status = z.enum(['active', 'cancelled'])

/** Reads the rows that decide an organisation's plan, at one moment; undefined if it does not exist. */
export async function findPlanRows(db: Db, organisationId: string): Promise<PlanRows | undefined> {
  const row = await db
    .selectFrom('organisation')
    .leftJoin('subscription', 'subscription.organisation_id', 'organisation.id')
    .select(['organisation.plan as own', 'organisation.overrides'])
    .select(SUBSCRIPTION_COLUMNS)
    .where('organisation.id', '=', organisationId)
    .executeTakeFirst()
  return row && { plan: row.own, overrides: row.overrides, subscription: toSubscription(row) }
}

/** The same of the next organisations behind an id, in the order of their ids. */
export async function nextPlanRows(
  db: Db,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<{ organisationId: string; rows: PlanRows }[]> {
  const rows = await db
    .selectFrom('organisation')
    .leftJoin('subscription', 'subscription.organisation_id', 'organisation.id')
    .select(['organisation.id', 'organisation.plan as own', 'organisation.overrides'])
    .select(SUBSCRIPTION_COLUMNS)
    .where('organisation.id', '>', afterId)
    .orderBy('organisation.id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    organisationId: row.id,
    rows: { plan: row.own, overrides: row.overrides, subscription: toSubscription(row) },
  }))
}

/** The same, with the organisation locked first: read by a statement that began after the lock was held. */
export async function lockPlanRows(db: Db, organisationId: string): Promise<PlanRows | undefined> {
  await lockOrganisation(db, organisationId)
  return await findPlanRows(db, organisationId)
}

/** Organisations whose subscription has a boundary behind it, the longest overdue first. */
export async function dueSubscriptions(db: Db, now: Date, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('subscription')
    .select('organisation_id')
    .where('status', '=', 'active')
    .where('current_period_end', '<=', now)
    .where(runs)
    .orderBy('current_period_end')
    .limit(limit)
    .execute()
  return rows.map((row) => row.organisation_id)
}

/** The ledger of an organisation that moves is written by one installation. */
const runs = sql<boolean>`exists (
  select from organisation o where o.id = subscription.organisation_id and o.state = 'running')`

export async function writeSubscription(
  db: Db,
  organisationId: string,
  subscription: Subscription,
  now: Date,
): Promise<void> {
  const columns = {
    plan: subscription.plan,
    status: subscription.status,
    anchor_at: new Date(subscription.anchorAtMs),
    current_period_start: new Date(subscription.currentPeriodStartMs),
    current_period_end: new Date(subscription.currentPeriodEndMs),
    cancel_at_period_end: subscription.cancelAtPeriodEnd,
    scheduled_plan: subscription.scheduledPlan,
    updated_at: now,
  }
  await db
    .insertInto('subscription')
    .values({ organisation_id: organisationId, created_at: now, ...columns })
    .onConflict((conflict) => conflict.column('organisation_id').doUpdateSet(columns))
    .execute()
}

/** The columns that `toSubscription` reads. */
export const SUBSCRIPTION_COLUMNS = [
  'subscription.plan',
  'subscription.status',
  'subscription.anchor_at',
  'subscription.current_period_start',
  'subscription.current_period_end',
  'subscription.cancel_at_period_end',
  'subscription.scheduled_plan',
] as const

type Columns = Omit<Selectable<SubscriptionTable>, 'organisation_id' | 'created_at' | 'updated_at'>

/** The subscription of a left join; undefined when there is no row. */
export function toSubscription(row: {
  [K in keyof Columns]: Columns[K] | null
}): Subscription | undefined {
  const { anchor_at, current_period_start, current_period_end } = row
  if (anchor_at === null || current_period_start === null || current_period_end === null) {
    return undefined
  }
  return {
    plan: Plan.parse(row.plan),
    status: Status.parse(row.status),
    anchorAtMs: anchor_at.getTime(),
    currentPeriodStartMs: current_period_start.getTime(),
    currentPeriodEndMs: current_period_end.getTime(),
    cancelAtPeriodEnd: row.cancel_at_period_end === true,
    scheduledPlan: row.scheduled_plan === null ? null : Plan.parse(row.scheduled_plan),
  }
}

import type { Selectable } from 'kysely'
import { z } from 'zod'

import { newId } from '../../ids.ts'
import type { UsageWindow } from '../../plans/standing.ts'
import type { Db } from '../connection/db.ts'
import type { LedgerTable } from './tables.ts'

const FactKind = z.enum([
  'subscription.started',
  'subscription.renewed',
  'subscription.cancel_scheduled',
  'subscription.resumed',
  'subscription.ended',
  'plan.changed',
  'plan.change_scheduled',
  'plan.change_reverted',
  'plan.overridden',
  'window.closed',
])

/** Something that costs money, or changes what costs money. */
export interface Fact {
  organisationId: string
  kind: z.infer<typeof FactKind>
  /** The plan in force from then on; of a window that closed, the plan that it was metered under. */
  plan: string
  /** Deliveries of the window since its last entry, so that the sum of its entries is the window's count. */
  window: UsageWindow | null
  deliveries: number | null
  overage: number | null
  details: Record<string, unknown>
  atMs: number
}

export type LedgerEntry = Fact & { id: string }

/**
 * The port to payment, called in the transaction of the facts. An adapter that charges would pass them on from here.
 * (decisions: Billing and plans)
 */
export type Ledger = (db: Db, facts: readonly Fact[]) => Promise<void>

/** The adapter that records: rows that nobody can change. */
export const recordFacts: Ledger = async (db, facts) => {
  if (facts.length === 0) return
  await db
    .insertInto('ledger')
    .values(
      facts.map((fact) => ({
        id: newId(fact.atMs),
        organisation_id: fact.organisationId,
        kind: fact.kind,
        plan: fact.plan,
        window_started_at: fact.window && new Date(fact.window.startedAtMs),
        window_ends_at: fact.window && new Date(fact.window.endsAtMs),
        deliveries: fact.deliveries,
        overage: fact.overage,
        details: JSON.stringify(fact.details),
        at: new Date(fact.atMs),
      })),
    )
    .execute()
}

/** Oldest first, behind the entry `afterId`. */
export async function listLedger(
  db: Db,
  organisationId: string,
  { limit, afterId }: { limit: number; afterId: string | undefined },
): Promise<LedgerEntry[]> {
  let query = db.selectFrom('ledger').selectAll().where('organisation_id', '=', organisationId)
  if (afterId !== undefined) query = query.where('id', '>', afterId)
  return (await query.orderBy('id').limit(limit).execute()).map(toEntry)
}

function toEntry(row: Selectable<LedgerTable>): LedgerEntry {
  const { window_started_at: startedAt, window_ends_at: endsAt } = row
  return {
    id: row.id,
    organisationId: row.organisation_id,
    kind: FactKind.parse(row.kind),
    plan: row.plan,
    window:
      startedAt === null || endsAt === null
        ? null
        : { startedAtMs: startedAt.getTime(), endsAtMs: endsAt.getTime() },
    deliveries: row.deliveries,
    overage: row.overage,
    details: row.details,
    atMs: row.at.getTime(),
  }
}

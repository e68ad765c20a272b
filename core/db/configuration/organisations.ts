import { sql, type Selectable } from 'kysely'

import type { Db } from '../connection/db.ts'
import type { Tables } from '../tables.ts'

export interface Organisation {
  id: string
  name: string
  plan: string
  /** A negotiated plan's own entitlements. */
  overrides: Record<string, unknown>
  retentionClass: number
  createdAt: Date
  updatedAt: Date
}

export async function findOrganisation(db: Db, id: string): Promise<Organisation | undefined> {
  const row = await db
    .selectFrom('organisation')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && toOrganisation(row)
}

/** The same, held to the end of the transaction: every change of a plan or subscription goes through this lock. */
export async function lockOrganisation(db: Db, id: string): Promise<Organisation | undefined> {
  const row = await db
    .selectFrom('organisation')
    .selectAll()
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row && toOrganisation(row)
}

/** All of them, oldest first: an installation has few. */
export async function listOrganisations(db: Db): Promise<Organisation[]> {
  const rows = await db.selectFrom('organisation').selectAll().orderBy('id').execute()
  return rows.map(toOrganisation)
}

/** Organisations whose class may be another than that of their plan: in another one, or with entitlements of their own. */
export async function organisationsToPlace(
  db: Db,
  classes: readonly { plan: string; retentionClass: number }[],
): Promise<Organisation[]> {
  const rows = await db
    .selectFrom('organisation')
    .selectAll()
    .where(
      sql<boolean>`overrides <> '{}' or (plan, retention_class) not in (
        select * from unnest(${classes.map(({ plan }) => plan)}::text[],
          ${classes.map(({ retentionClass }) => retentionClass)}::int2[]))`,
    )
    .execute()
  return rows.map(toOrganisation)
}

/** The organisation of the installation: the oldest that no sign-up made. */
export async function findOwnOrganisation(db: Db): Promise<Organisation | undefined> {
  const row = await db
    .selectFrom('organisation')
    .selectAll()
    .where('signed_up', '=', false)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row && toOrganisation(row)
}

/** `isSignedUp`: a sign-up made it. */
export async function insertOrganisation(
  db: Db,
  organisation: Organisation & { isSignedUp: boolean },
): Promise<void> {
  await db
    .insertInto('organisation')
    .values({
      id: organisation.id,
      name: organisation.name,
      plan: organisation.plan,
      overrides: JSON.stringify(organisation.overrides),
      retention_class: organisation.retentionClass,
      signed_up: organisation.isSignedUp,
      created_at: organisation.createdAt,
      updated_at: organisation.updatedAt,
    })
    .execute()
}

export async function setOrganisationName(
  db: Db,
  id: string,
  { name, updatedAt }: { name: string; updatedAt: Date },
): Promise<void> {
  await db
    .updateTable('organisation')
    .set({ name, updated_at: updatedAt })
    .where('id', '=', id)
    .execute()
}

/** Notes that a stranger made it by signing up, and from where. */
export async function setSignedUpFrom(db: Db, id: string, network: string): Promise<void> {
  await db
    .updateTable('organisation')
    .set({ signed_up_from: network })
    .where('id', '=', id)
    .execute()
}

export async function setPlan(
  db: Db,
  id: string,
  plan: { plan: string; overrides: object; retentionClass: number; updatedAt: Date },
): Promise<void> {
  await db
    .updateTable('organisation')
    .set({
      plan: plan.plan,
      overrides: JSON.stringify(plan.overrides),
      retention_class: plan.retentionClass,
      updated_at: plan.updatedAt,
    })
    .where('id', '=', id)
    .execute()
}

function toOrganisation(row: Selectable<Tables['organisation']>): Organisation {
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    overrides: row.overrides,
    retentionClass: row.retention_class,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

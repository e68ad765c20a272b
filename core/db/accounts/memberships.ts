import type { Db } from '../connection/db.ts'

/** An organisation as one of its members sees it. */
export interface Membership {
  organisationId: string
  name: string
  role: string
}

export async function insertMembership(
  db: Db,
  membership: { organisationId: string; personId: string; role: string; now: Date },
): Promise<void> {
  await db
    .insertInto('membership')
    .values({
      organisation_id: membership.organisationId,
      person_id: membership.personId,
      role: membership.role,
      created_at: membership.now,
    })
    .execute()
}

/** The organisations of a person, oldest first. */
export async function listMemberships(db: Db, personId: string): Promise<Membership[]> {
  return await db
    .selectFrom('membership')
    .innerJoin('organisation', 'organisation.id', 'membership.organisation_id')
    .select(['organisation.id as organisationId', 'organisation.name', 'membership.role'])
    .where('membership.person_id', '=', personId)
    .orderBy('organisation.id')
    .execute()
}

export async function setRole(
  db: Db,
  { organisationId, personId, role }: { organisationId: string; personId: string; role: string },
): Promise<void> {
  await db
    .updateTable('membership')
    .set({ role })
    .where('organisation_id', '=', organisationId)
    .where('person_id', '=', personId)
    .execute()
}

export async function deleteMembership(
  db: Db,
  organisationId: string,
  personId: string,
): Promise<void> {
  await db
    .deleteFrom('membership')
    .where('organisation_id', '=', organisationId)
    .where('person_id', '=', personId)
    .execute()
}

/** Whether the installation has an owner of any organisation. */
export async function hasOwner(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('membership')
    .select('person_id')
    .where('role', '=', 'owner')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

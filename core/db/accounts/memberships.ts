import { sql } from 'kysely'

import { SESSION_DAYS } from '../../limits.ts'
import type { Db } from '../connection/db.ts'

/** An organisation as one of its members sees it. */
export interface Membership {
  organisationId: string
  name: string
  role: string
}

/** A person as others of the organisation see them. */
export interface Member {
  personId: string
  email: string
  name: string
  role: string
  createdAt: Date
}

/** The same in a list, with the time of the last request of a session that has not ended. */
export interface ListedMember extends Member {
  lastSeenAt: Date | null
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

/** The members of an organisation in the order in which they joined. */
export async function listMembers(db: Db, organisationId: string): Promise<ListedMember[]> {
  return await members(db, organisationId)
    .select(lastSeenAt.as('lastSeenAt'))
    .orderBy('membership.created_at')
    .orderBy('person.id')
    .execute()
}

export async function findMember(
  db: Db,
  organisationId: string,
  personId: string,
): Promise<Member | undefined> {
  return await members(db, organisationId).where('person.id', '=', personId).executeTakeFirst()
}

export async function findMemberByEmail(
  db: Db,
  organisationId: string,
  email: string,
): Promise<Member | undefined> {
  return await members(db, organisationId).where('person.email', '=', email).executeTakeFirst()
}

/** The seats of an organisation that members have taken. */
export async function countMembers(db: Db, organisationId: string): Promise<number> {
  const { count } = await db
    .selectFrom('membership')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organisation_id', '=', organisationId)
    .executeTakeFirstOrThrow()
  return count
}

export async function countOwners(db: Db, organisationId: string): Promise<number> {
  const { count } = await db
    .selectFrom('membership')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organisation_id', '=', organisationId)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow()
  return count
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

/**
 * Whether the installation's own organisation has an owner: the oldest that nobody made by signing up. Owners of
 * organisations that strangers make do not count.
 */
export async function hasOwner(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('membership')
    .select('person_id')
    .where('role', '=', 'owner')
    .where('organisation_id', '=', (own) =>
      own
        .selectFrom('organisation')
        .select('id')
        .where('signed_up', '=', false)
        .orderBy('id')
        .limit(1),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Each request puts the end of its session off to that long after itself. */
const lastSeenAt = sql<Date | null>`(
  select max(session.expires_at) - ${SESSION_DAYS} * interval '1 day' from session
  where session.person_id = person.id)`

function members(db: Db, organisationId: string) {
  return db
    .selectFrom('membership')
    .innerJoin('person', 'person.id', 'membership.person_id')
    .select([
      'person.id as personId',
      'person.email',
      'person.name',
      'membership.role',
      'membership.created_at as createdAt',
    ])
    .where('membership.organisation_id', '=', organisationId)
}

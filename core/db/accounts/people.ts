import type { Selectable } from 'kysely'

import type { Db } from '../connection/db.ts'
import type { Tables } from '../tables.ts'

export interface Person {
  id: string
  /** In lower case. */
  email: string
  name: string
  /** Null: signs in through the identity provider alone. */
  passwordHash: string | null
  /**
   * When the address was proved, by a mailed link or the provider, or vouched for by an invitation or the setup link. Null:
   * anybody may have typed it, so nothing is mailed from it, and the account yields to the address's owner.
   */
  emailVerifiedAt: Date | null
  createdAt: Date
}

/** The constraint that an address belongs to one person. */
export const EMAIL_TAKEN = 'person_email'

export async function insertPerson(db: Db, person: Person): Promise<void> {
  await db
    .insertInto('person')
    .values({
      id: person.id,
      email: person.email,
      name: person.name,
      password_hash: person.passwordHash,
      email_verified_at: person.emailVerifiedAt,
      created_at: person.createdAt,
      updated_at: person.createdAt,
    })
    .execute()
}

export async function findPerson(db: Db, id: string): Promise<Person | undefined> {
  const row = await db.selectFrom('person').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toPerson(row)
}

export async function findPersonByEmail(db: Db, email: string): Promise<Person | undefined> {
  const row = await db
    .selectFrom('person')
    .selectAll()
    .where('email', '=', email)
    .executeTakeFirst()
  return row && toPerson(row)
}

export async function setPersonName(db: Db, id: string, name: string, now: Date): Promise<void> {
  await db.updateTable('person').set({ name, updated_at: now }).where('id', '=', id).execute()
}

/** Null: the person signs in through the identity provider alone. */
export async function setPassword(
  db: Db,
  id: string,
  hash: string | null,
  now: Date,
): Promise<void> {
  await db
    .updateTable('person')
    .set({ password_hash: hash, updated_at: now })
    .where('id', '=', id)
    .execute()
}

/** Notes that the address of a person was proved. */
export async function setVerified(db: Db, id: string, now: Date): Promise<void> {
  await db
    .updateTable('person')
    .set({ email_verified_at: now, updated_at: now })
    .where('id', '=', id)
    .where('email_verified_at', 'is', null)
    .execute()
}

/** Deletes an account with its sessions, links, memberships and agents; keys that it made lose their maker. */
export async function deletePerson(db: Db, id: string): Promise<void> {
  await db.deleteFrom('person').where('id', '=', id).execute()
}

function toPerson(row: Selectable<Tables['person']>): Person {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    passwordHash: row.password_hash,
    emailVerifiedAt: row.email_verified_at,
    createdAt: row.created_at,
  }
}

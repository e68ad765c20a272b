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

function toPerson(row: Selectable<Tables['person']>): Person {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    passwordHash: row.password_hash,
    createdAt: row.created_at,
  }
}

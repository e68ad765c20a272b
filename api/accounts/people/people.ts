import { z } from 'zod'

import { hashPassword } from '../../../core/accounts/password.ts'
import { listMemberships } from '../../../core/db/accounts/memberships.ts'
import {
  EMAIL_TAKEN,
  findPersonByEmail,
  insertPerson,
  type Person,
} from '../../../core/db/accounts/people.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { violates } from '../../../core/db/connection/failures.ts'
import { refuse } from '../../../core/errors.ts'
import { encodeId, newId } from '../../../core/ids.ts'
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from '../../../core/limits.ts'
import type { Deps } from '../../deps.ts'

/** Somebody comes who is not signed in yet: where from stands in the audit of what becomes of it. */
export interface Entrance extends Deps {
  address: string
}

/** A password as it is chosen. */
export const NewPassword = z.string().min(PASSWORD_LENGTH_MIN).max(PASSWORD_LENGTH_MAX)

/** A password as it is given; one that breaks a newer rule is still the person's. */
export const GivenPassword = z.string().min(1).max(PASSWORD_LENGTH_MAX)

/**
 * A person who is to be, the password hashed already, in turn with other clients: that takes longer than a transaction
 * should. `isVerified`: whether the address is known to be theirs.
 */
export async function newPerson(
  wish: { email: string; name: string; password: string; isVerified: boolean },
  { nowMs, by }: { nowMs: number; by: string },
): Promise<Person> {
  const { email, name, password, isVerified } = wish
  const passwordHash = await hashPassword(password, by)
  const createdAt = new Date(nowMs)
  const emailVerifiedAt = isVerified ? createdAt : null
  return { id: newId(nowMs), email, name, passwordHash, emailVerifiedAt, createdAt }
}

/** Refuses an address that somebody has. */
export async function addPerson(tx: Db, person: Person): Promise<void> {
  try {
    await insertPerson(tx, person)
  } catch (error) {
    if (violates(error, EMAIL_TAKEN)) refuseTaken(person.email)
    throw error
  }
}

/** The same before the password is hashed. */
export async function demandFree(db: Db, email: string): Promise<void> {
  if ((await findPersonByEmail(db, email)) !== undefined) refuseTaken(email)
}

function refuseTaken(email: string): never {
  refuse('CONFLICT', `There is an account for "${email}" already: sign in to it`)
}

/** Who is signed in, and the organisations that they are members of. */
export async function viewSession(
  db: Db,
  person: { personId: string; email: string; name: string; isVerified: boolean },
): Promise<Record<string, unknown>> {
  const { personId, email, name, isVerified } = person
  const organisations = await listMemberships(db, personId)
  return {
    user: { id: encodeId('usr', personId), email, name, isVerified },
    organisations: organisations.map((one) => ({
      id: encodeId('org', one.organisationId),
      name: one.name,
      role: one.role,
    })),
  }
}

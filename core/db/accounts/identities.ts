import type { Db } from '../connection/db.ts'

/** The person whom an OpenID Connect provider knows by this subject. */
export async function findIdentity(
  db: Db,
  issuer: string,
  subject: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('identity')
    .select('person_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row?.person_id
}

export async function insertIdentity(
  db: Db,
  identity: { issuer: string; subject: string; personId: string; now: Date },
): Promise<void> {
  const { issuer, subject, personId, now } = identity
  await db
    .insertInto('identity')
    .values({ issuer, subject, person_id: personId, created_at: now })
    .execute()
}

import type { Db } from '../connection/db.ts'

/** The right that a link gives: make the first owner, set a password anew, sign up, or prove an address. */
export type LinkKind = 'setup' | 'reset' | 'sign-up' | 'verify'

export interface AccountLink {
  kind: LinkKind
  /** Whose password. */
  personId: string | null
  /** Whose first owner. */
  organisationId: string | null
  /** The address that it is mailed to, whose owner alone has it; null: it is printed. */
  email: string | null
  expiresAt: Date
}

/** A new link of a kind replaces the one before: for setup there is one in all, else one a person or an address. */
export async function replaceLink(
  db: Db,
  link: AccountLink & { tokenHash: Buffer },
): Promise<void> {
  const { kind, personId, email } = link
  let former = db.deleteFrom('account_link').where('kind', '=', kind)
  if (personId !== null) former = former.where('person_id', '=', personId)
  else if (email !== null) former = former.where('email', '=', email)
  await former.execute()
  await insertLink(db, link)
}

/** A link beside those of its kind that are good already. */
export async function insertLink(
  db: Db,
  {
    kind,
    personId,
    organisationId,
    email,
    expiresAt,
    tokenHash,
  }: AccountLink & { tokenHash: Buffer },
): Promise<void> {
  await db
    .insertInto('account_link')
    .values({
      kind,
      person_id: personId,
      organisation_id: organisationId,
      email,
      expires_at: expiresAt,
      token_hash: tokenHash,
    })
    .execute()
}

/** Uses a link up: of all who hold it, however many come at once, the first gets it. */
export async function takeLink(
  db: Db,
  kind: LinkKind,
  tokenHash: Buffer,
  now: Date,
): Promise<Pick<AccountLink, 'personId' | 'organisationId' | 'email'> | undefined> {
  return await db
    .deleteFrom('account_link')
    .where('token_hash', '=', tokenHash)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .returning(['person_id as personId', 'organisation_id as organisationId', 'email'])
    .executeTakeFirst()
}

/** Reads a link that is good. Cheap, before any work for its holder; the link stays. */
export async function findLink(
  db: Db,
  kind: LinkKind,
  tokenHash: Buffer,
  now: Date,
): Promise<Pick<AccountLink, 'personId' | 'email'> | undefined> {
  return await db
    .selectFrom('account_link')
    .select(['person_id as personId', 'email'])
    .where('token_hash', '=', tokenHash)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

export async function deleteLinks(db: Db, kind: LinkKind, personId?: string): Promise<void> {
  let query = db.deleteFrom('account_link').where('kind', '=', kind)
  if (personId !== undefined) query = query.where('person_id', '=', personId)
  await query.execute()
}

/** Ends the links that were mailed to an address. */
export async function deleteLinksTo(db: Db, kind: LinkKind, email: string): Promise<void> {
  await db.deleteFrom('account_link').where('kind', '=', kind).where('email', '=', email).execute()
}

export async function deleteExpiredLinks(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('account_link').where('expires_at', '<', now).execute()
}

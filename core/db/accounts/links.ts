import type { Db } from '../connection/db.ts'

/** The right of whoever holds a link: make the first owner, or set a password anew. */
export type LinkKind = 'setup' | 'reset'

export interface AccountLink {
  kind: LinkKind
  /** Whose password. */
  personId: string | null
  /** Whose first owner. */
  organisationId: string | null
  expiresAt: Date
}

/** A new link of a kind replaces the one before: for setup there is one in all, for a reset one a person. */
export async function replaceLink(
  db: Db,
  link: AccountLink & { tokenHash: Buffer },
): Promise<void> {
  const { kind, personId, organisationId, expiresAt, tokenHash } = link
  let former = db.deleteFrom('account_link').where('kind', '=', kind)
  if (personId !== null) former = former.where('person_id', '=', personId)
  await former.execute()
  await db
    .insertInto('account_link')
    .values({
      kind,
      person_id: personId,
      organisation_id: organisationId,
      expires_at: expiresAt,
      token_hash: tokenHash,
    })
    .execute()
}

/** Whether a link is good. Cheap, before any work for its holder; the link stays. */
export async function hasLink(
  db: Db,
  kind: LinkKind,
  tokenHash: Buffer,
  now: Date,
): Promise<boolean> {
  const found = await db
    .selectFrom('account_link')
    .select('kind')
    .where('token_hash', '=', tokenHash)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return found !== undefined
}

/** Uses a link up: of all who hold it, however many come at once, the first gets it. */
export async function takeLink(
  db: Db,
  kind: LinkKind,
  tokenHash: Buffer,
  now: Date,
): Promise<Pick<AccountLink, 'personId' | 'organisationId'> | undefined> {
  return await db
    .deleteFrom('account_link')
    .where('token_hash', '=', tokenHash)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .returning(['person_id as personId', 'organisation_id as organisationId'])
    .executeTakeFirst()
}

export async function deleteLinks(db: Db, kind: LinkKind, personId?: string): Promise<void> {
  let query = db.deleteFrom('account_link').where('kind', '=', kind)
  if (personId !== undefined) query = query.where('person_id', '=', personId)
  await query.execute()
}

export async function deleteExpiredLinks(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('account_link').where('expires_at', '<', now).execute()
}

import { randomBytes } from 'node:crypto'

import type { Clock } from '../../../core/clock.ts'
import { replaceLink } from '../../../core/db/accounts/links.ts'
import { hasOwner } from '../../../core/db/accounts/memberships.ts'
import { findPersonByEmail } from '../../../core/db/accounts/people.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { refuse } from '../../../core/errors.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import { ACCOUNT_LINK_HOURS, RESET_MAIL_MINUTES } from '../../../core/limits.ts'
import { resetLetter } from '../../mail/letters.ts'
import type { Post } from '../../mail/post.ts'

const TOKEN_BYTES = 32
const LINK_MS = ACCOUNT_LINK_HOURS * 3_600_000
const MAILED_LINK_MS = RESET_MAIL_MINUTES * 60_000

/** Needed to make a link. */
export interface LinkDeps {
  db: Db
  clock: Clock
}

/** A token for a link, and when it ends. */
export interface NewLink {
  token: string
  expiresAt: Date
}

/**
 * A token with which somebody becomes the first owner; the one before it ends. Undefined once there is an owner: never is
 * the first visitor the owner.
 */
export async function makeSetupLink({ db, clock }: LinkDeps): Promise<NewLink | undefined> {
  const link = newLink(clock.now())
  return await db.transaction().execute(async (tx) => {
    if (await hasOwner(tx)) return undefined
    await replaceLink(tx, {
      kind: 'setup',
      personId: null,
      organisationId: null,
      expiresAt: link.expiresAt,
      tokenHash: hashSecret(link.token),
    })
    return link
  })
}

/** A token, of which the hash is to be stored. */
function newLink(nowMs: number, validMs = LINK_MS): NewLink {
  return { token: newToken(), expiresAt: new Date(nowMs + validMs) }
}

/** A link with which a person sets a new password; the one before it ends. */
export async function makeResetLink(
  { db, clock }: LinkDeps,
  personId: string,
  validMs = LINK_MS,
): Promise<NewLink> {
  const link = newLink(clock.now(), validMs)
  await db.transaction().execute(async (tx) => {
    await replaceLink(tx, {
      kind: 'reset',
      personId,
      organisationId: null,
      expiresAt: link.expiresAt,
      tokenHash: hashSecret(link.token),
    })
  })
  return link
}

/** Mails such a link to whoever has an account of this address, behind the answer: nobody learns whether there is one. */
export function mailResetLink(deps: LinkDeps & { post: Post | undefined }, email: string): void {
  const { db, post } = deps
  if (post === undefined) {
    refuse(
      'FORBIDDEN',
      'Cannot mail a link: no mail is sent from here. The operator makes one: npm run admin -- users reset-link',
    )
  }
  post.later(async () => {
    const person = await findPersonByEmail(db, email)
    if (person === undefined) return
    await post.send(person.email, async (origin) => {
      const { token } = await makeResetLink(deps, person.id, MAILED_LINK_MS)
      return resetLetter(linkUrl(origin, 'reset', token))
    })
  })
}

/** 256 bits that nobody guesses. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** The address of a page of the dashboard with a token, which stays out of logs and of Referer in the fragment. */
export function linkUrl(origin: string, page: 'setup' | 'invite' | 'reset', token: string): string {
  return `${origin}/${page}#${token}`
}

/** Whatever is wrong with it, nobody is told. */
export function refuseLink(): never {
  refuse('UNAUTHORIZED', 'This link is not valid: it was used, was replaced or has expired')
}

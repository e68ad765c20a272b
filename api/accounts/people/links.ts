import { randomBytes } from 'node:crypto'

import type { Clock } from '../../../core/clock.ts'
import { insertLink, replaceLink, type LinkKind } from '../../../core/db/accounts/links.ts'
import { hasOwner } from '../../../core/db/accounts/memberships.ts'
import { findPersonByEmail, type Person } from '../../../core/db/accounts/people.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { refuse } from '../../../core/errors.ts'
import { hashSecret } from '../../../core/keys/secret-text.ts'
import { ACCOUNT_LINK_HOURS, RESET_MAIL_MINUTES } from '../../../core/limits.ts'
import {
  knownLetter,
  newcomerLetter,
  resetLetter,
  signUpLetter,
  verifyLetter,
} from '../../mail/letters.ts'
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
 * A token that makes the first owner; the one before it ends. Undefined once the installation's own
 * organisation has an owner: never is the first visitor the owner.
 */
export async function makeSetupLink({ db, clock }: LinkDeps): Promise<NewLink | undefined> {
  const link = newLink(clock.now())
  return await db.transaction().execute(async (tx) => {
    if (await hasOwner(tx)) return undefined
    await replaceLink(tx, {
      kind: 'setup',
      personId: null,
      organisationId: null,
      email: null,
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

/** A link with which a person sets a new password; the one before it ends. It is printed for the operator. */
export async function makeResetLink(deps: LinkDeps, personId: string): Promise<NewLink> {
  const { token, expiresAt } = newLink(deps.clock.now())
  const link = { kind: 'reset', personId, organisationId: null, email: null } as const
  const tokenHash = hashSecret(token)
  await deps.db.transaction().execute(async (tx) => {
    await replaceLink(tx, { ...link, expiresAt, tokenHash })
  })
  return { token, expiresAt }
}

/**
 * The token of a link that is mailed. Links that were mailed before stay good: a stranger who has one mailed to an owner takes
 * none from them.
 */
async function makeMailedLink(
  { db, clock }: LinkDeps,
  wish: { kind: LinkKind; personId: string | null; email: string; validMs: number },
): Promise<string> {
  const { validMs, ...link } = wish
  const { token, expiresAt } = newLink(clock.now(), validMs)
  await insertLink(db, { ...link, organisationId: null, expiresAt, tokenHash: hashSecret(token) })
  return token
}

interface MailedLinkDeps extends LinkDeps {
  post: Post | undefined
}

/** The client that asks for a link. */
interface Asker {
  network: string
  /** The id of a browser that signed in to the account before. */
  knownAs: (person: Person) => string | undefined
}

/** Mails such a link to whoever has an account of this address, behind the answer: nobody learns whether there is one. */
export function mailResetLink(
  deps: MailedLinkDeps,
  email: string,
  { network, knownAs }: Asker,
): void {
  const post = demandPost(deps, 'The operator makes one: npm run admin -- users reset-link')
  post.later(async () => {
    const person = await findPersonByEmail(deps.db, email)
    if (person === undefined) return
    const browser = knownAs(person)
    const asker = { by: browser ?? network, isOwn: browser !== undefined }
    await post.send({ to: email, kind: 'reset', ...asker }, async (origin) => {
      const wish = { kind: 'reset', personId: person.id, email, validMs: MAILED_LINK_MS } as const
      const token = await makeMailedLink(deps, wish)
      const url = linkUrl(origin, 'reset', token)
      return person.emailVerifiedAt === null ? newcomerLetter(url) : resetLetter(url)
    })
  })
}

/**
 * Mails a link with which the owner of an address makes an account. An owner who has one gets a letter that names it.
 * After the answer, which is the same for both.
 */
export function mailSignUpLink(deps: MailedLinkDeps, email: string, network: string): void {
  const post = demandPost(deps, 'Sign up without one')
  post.later(async () => {
    const person = await findPersonByEmail(deps.db, email)
    await post.send({ to: email, kind: 'sign-up', by: network }, async (origin) => {
      if (person !== undefined && person.emailVerifiedAt !== null) return knownLetter(origin)
      const wish = { kind: 'sign-up', personId: null, email, validMs: LINK_MS } as const
      const token = await makeMailedLink(deps, wish)
      return signUpLetter(`${linkUrl(origin, 'sign-up', token)}/${encodeURIComponent(email)}`)
    })
  })
}

/** Mails a link with which a person who is signed in proves that the address is theirs. */
export function mailVerifyLink(
  deps: MailedLinkDeps,
  { personId, email }: { personId: string; email: string },
): void {
  const post = demandPost(deps, 'The identity provider, where there is one, proves an address')
  post.later(async () => {
    await post.send({ to: email, kind: 'verify', by: personId }, async (origin) => {
      const wish = { kind: 'verify', personId, email, validMs: LINK_MS } as const
      const token = await makeMailedLink(deps, wish)
      return verifyLetter(linkUrl(origin, 'verify', token))
    })
  })
}

function demandPost({ post }: MailedLinkDeps, instead: string): Post {
  return post ?? refuse('FORBIDDEN', `Cannot mail a link: no mail is sent from here. ${instead}`)
}

/** 256 bits that nobody guesses. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** The address of a page of the dashboard with a token, which stays out of logs and of Referer in the fragment. */
export function linkUrl(
  origin: string,
  page: 'setup' | 'invite' | 'reset' | 'sign-up' | 'verify',
  token: string,
): string {
  return `${origin}/${page}#${token}`
}

/** Whatever is wrong with it, nobody is told. */
export function refuseLink(): never {
  refuse('UNAUTHORIZED', 'This link is not valid: it was used, was replaced or has expired')
}

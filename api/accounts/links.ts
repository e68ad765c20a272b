import { randomBytes } from 'node:crypto'

import type { Clock } from '../../core/clock.ts'
import { replaceLink } from '../../core/db/accounts/links.ts'
import { hasOwner } from '../../core/db/accounts/memberships.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { refuse } from '../../core/errors.ts'
import { hashSecret } from '../../core/keys/secret-text.ts'
import { ACCOUNT_LINK_HOURS } from '../../core/limits.ts'

const TOKEN_BYTES = 32
const HOUR_MS = 3_600_000

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
function newLink(nowMs: number): NewLink {
  return {
    token: newToken(),
    expiresAt: new Date(nowMs + ACCOUNT_LINK_HOURS * HOUR_MS),
  }
}

/** A link with which a person sets a new password; the one before it ends. */
export async function makeResetLink({ db, clock }: LinkDeps, personId: string): Promise<NewLink> {
  const link = newLink(clock.now())
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

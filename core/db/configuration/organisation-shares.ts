import { sql } from 'kysely'

import { NEWCOMER_DAYS } from '../../limits.ts'
import type { Db } from '../connection/db.ts'

/** In front of the network that newcomers share. No id of an organisation begins with it. */
const NETWORK = 'network '

/**
 * The share that an organisation counts in, of what tenants share: its own id; for a newcomer the network that it signed up
 * from, because such an organisation costs nothing. It is a newcomer for its first days, and until an owner has proved an
 * address. In a statement that reads `organisation`.
 */
export const shareOf = sql<string>`case when organisation.signed_up_from is null or (
  organisation.created_at < now() - ${NEWCOMER_DAYS}::int4 * interval '1 day' and exists (
    select from membership join person on person.id = membership.person_id
    where membership.organisation_id = organisation.id and membership.role = 'owner'
      and person.email_verified_at is not null
  )) then organisation.id::text else ${NETWORK} || organisation.signed_up_from end`

/** Whether a share is that of a network, which all organisations have that signed up from there. */
export function isNewcomers(share: string): boolean {
  return share.startsWith(NETWORK)
}

/** Whether a share is used up: its own part, or the half of the whole that all newcomers have. `used`: the share of each user. */
export function isShareSpent(
  share: string,
  used: Iterable<string>,
  { own, whole }: { own: number; whole: number },
): boolean {
  const all = [...used]
  if (all.filter((one) => one === share).length >= own) return true
  return isNewcomers(share) && all.filter(isNewcomers).length >= whole / 2
}

const KEPT_MS = 60_000
const KEPT_MAX = 10_000

/** The shares of organisations, each known for a minute. */
export class OrganisationShares {
  readonly #db: Db
  readonly #kept = new Map<string, { share: string; untilMs: number }>()

  constructor(db: Db) {
    this.#db = db
  }

  /** An organisation that is gone has a share of its own. */
  async of(organisationId: string): Promise<string> {
    const kept = this.#kept.get(organisationId)
    if (kept !== undefined && kept.untilMs > performance.now()) return kept.share
    const row = await this.#db
      .selectFrom('organisation')
      .select(shareOf.as('share'))
      .where('id', '=', organisationId)
      .executeTakeFirst()
    const share = row?.share ?? organisationId
    this.#kept.delete(organisationId)
    this.#kept.set(organisationId, { share, untilMs: performance.now() + KEPT_MS })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest)
    return share
  }
}

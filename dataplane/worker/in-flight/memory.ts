import {
  CLAIM_BYTES_MAX,
  LARGE_BODY_BYTES_MAX,
  ORGANISATION_LARGE_BODY_BYTES_MAX,
  WORK_BYTES_MAX,
} from '../../../core/limits.ts'
import { ByteBudget, type Share } from './byte-budget.ts'

/** Lanes that take parked rows back at once: fewer than there are connections. */
const CLAIMS_MAX = 8

/** Memory of a worker for deliveries. The budgets are separate, so that large bodies do not block small ones. */
export interface Memory {
  /** Messages and claimed rows, smaller bodies with them, and answers that are to be written. */
  work: ByteBudget
  /** Bytes that claims under way may bring, which nobody knows before. */
  claims: ByteBudget
  /** Larger bodies, each from before it is read until its attempt is over. */
  largeBodies: ByteBudget
  /** The same of one organisation, so that one whose destinations hang leaves room for others. */
  largeBodiesOf(organisationId: string): ByteBudget
}

export function openMemory(): Memory {
  const ofOrganisations = new Map<string, ByteBudget>()
  return {
    work: new ByteBudget(WORK_BYTES_MAX),
    claims: new ByteBudget(CLAIMS_MAX * CLAIM_BYTES_MAX),
    largeBodies: new ByteBudget(LARGE_BODY_BYTES_MAX),
    largeBodiesOf(organisationId) {
      const known = ofOrganisations.get(organisationId)
      if (known !== undefined) return known
      for (const [id, budget] of ofOrganisations) if (budget.isUnused) ofOrganisations.delete(id)
      const budget = new ByteBudget(ORGANISATION_LARGE_BODY_BYTES_MAX)
      ofOrganisations.set(organisationId, budget)
      return budget
    },
  }
}

/** Waits until one more claim may be made, and then for room for work. To be given back when its rows are counted. */
export async function roomForClaim({ work, claims }: Memory): Promise<Share> {
  const room = await claims.take(CLAIM_BYTES_MAX)
  await work.take(0)
  return room
}

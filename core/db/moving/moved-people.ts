import { z } from 'zod'

import { refuse } from '../../errors.ts'
import { findPerson, findPersonByEmail } from '../accounts/people.ts'
import type { Db } from '../connection/db.ts'
import type { MovedRow, MovedTable } from './moved-tables.ts'

/** The id here of each person of a file, and those whom the import adds. */
export interface People {
  idOf: Map<string, string>
  added: Set<string>
}

const PersonRow = z.looseObject({
  id: z.uuid(),
  email: z.string(),
  email_verified_at: z.string().nullable(),
})

/**
 * Finds the people of a file here and returns those who are missing. Somebody with the address here is the same person if
 * both installations have proved it; their account stays as it is, so that a file cannot open it. Refuses an address that
 * only one of them has proved.
 */
export async function placePeople(
  tx: Db,
  rows: readonly MovedRow[],
  people: People,
): Promise<MovedRow[]> {
  const missing: MovedRow[] = []
  for (const row of rows) {
    const moved = PersonRow.parse(row)
    const here = (await findPersonByEmail(tx, moved.email)) ?? (await findPerson(tx, moved.id))
    const isSame = here === undefined || here.id === moved.id
    const isProved = here?.emailVerifiedAt != null && moved.email_verified_at !== null
    if (here !== undefined && (here.email !== moved.email || !(isSame || isProved))) {
      refuse(
        'CONFLICT',
        `Cannot import: "${moved.email}" is another account here; prove the address in both installations, or remove the member`,
      )
    }
    people.idOf.set(moved.id, here?.id ?? moved.id)
    if (here !== undefined) continue
    people.added.add(moved.id)
    missing.push(row)
  }
  return missing
}

/** Rows with the ids that people have here; null for someone who is no member. */
export function withPeople(
  rows: readonly MovedRow[],
  { people: columns = [] }: MovedTable,
  people: People,
): MovedRow[] {
  return rows.map((row) => {
    const placed = { ...row }
    for (const column of columns) placed[column] = people.idOf.get(String(row[column])) ?? null
    return placed
  })
}

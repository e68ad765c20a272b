import { resealSecrets, SEALED_TABLES, type SealedRow } from '../db/configuration/sealed-secrets.ts'
import type { Db } from '../db/connection/db.ts'
import { firstIdAt } from '../ids.ts'
import { headerOf, PLACED_HEADER, seal, unseal, type Keyring } from '../secrets/sealed.ts'
import { placeOfSecrets } from '../secrets/secrets-place.ts'

/** Rows of one transaction. Ours. */
const STEP_ROWS = 100

type Counts = Record<(typeof SEALED_TABLES)[number], number>

/**
 * Seals every secret under the keyring's first key that is not yet, in small transactions: a run that was killed is run
 * again. Safe while the relay runs, when its processes have both keys. Throws on a secret whose key is missing.
 */
export async function rotateEncryptionKey(db: Db, keyring: Keyring): Promise<Counts> {
  return await resealAll(db, keyring, headerOf(keyring))
}

/** Seals every secret for its row that a version before sealed for none, in the same way. */
export async function bindSecrets(db: Db, keyring: Keyring): Promise<Counts> {
  return await resealAll(db, keyring, PLACED_HEADER)
}

/** All secrets that do not begin with `header`. */
async function resealAll(db: Db, keyring: Keyring, header: Buffer): Promise<Counts> {
  const counts = { source: 0, destination: 0 }
  for (const table of SEALED_TABLES) {
    const reseal = (row: SealedRow): Buffer => {
      const place = placeOfSecrets(table, row)
      return seal(keyring, unseal(keyring, row.secrets, place), place)
    }
    for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
      const step = await resealSecrets(db, { table, header, afterId }, reseal, STEP_ROWS)
      counts[table] += step.resealed
      afterId = step.lastId
    }
  }
  return counts
}

import { resealSecrets, SEALED_TABLES } from '../db/configuration/sealed-secrets.ts'
import type { Db } from '../db/db.ts'
import { firstIdAt } from '../ids.ts'
import { headerOf, seal, unseal, type Keyring } from './sealed.ts'

/** Rows of one transaction. Ours. */
const STEP_ROWS = 100

/**
 * Seals every secret under the keyring's first key that is not yet, in small transactions: a run that was killed is
 * run again. Safe while the relay runs, when its processes have both keys. Throws on a secret whose key is missing.
 */
export async function rotateEncryptionKey(
  db: Db,
  keyring: Keyring,
): Promise<Record<(typeof SEALED_TABLES)[number], number>> {
  const header = headerOf(keyring)
  const reseal = (sealed: Buffer): Buffer => seal(keyring, unseal(keyring, sealed))
  const counts = { source: 0, destination: 0 }
  for (const table of SEALED_TABLES) {
    for (let afterId: string | undefined = firstIdAt(0); afterId !== undefined;) {
      const step = await resealSecrets(db, { table, header, afterId }, reseal, STEP_ROWS)
      counts[table] += step.resealed
      afterId = step.lastId
    }
  }
  return counts
}

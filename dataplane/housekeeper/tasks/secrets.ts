import { bindSecrets } from '../../../core/actions/rotate.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import type { Logger } from '../../../core/log.ts'
import type { Keyring } from '../../../core/secrets/sealed.ts'

/** Longer than a rolling upgrade: processes of the version before cannot open what is sealed for a row. */
const AFTER_MS = 15 * 60_000

export interface SecretsTaskDeps {
  db: Db
  log: Logger
  keyring: Keyring
}

/** Seals for their rows what a version before sealed for none: once, some time after the start. */
export function secretsTask({ db, log, keyring }: SecretsTaskDeps): () => Promise<void> {
  const from = performance.now() + AFTER_MS
  let isDone = false
  return async () => {
    if (isDone || performance.now() < from) return
    const { source, destination } = await bindSecrets(db, keyring)
    isDone = true
    if (source + destination > 0) log.info({ source, destination }, 'Bound secrets to their rows')
  }
}

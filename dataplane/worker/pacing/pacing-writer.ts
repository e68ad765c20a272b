import type { Db } from '../../../core/db/connection/db.ts'
import { writePacing } from '../../../core/db/deliveries/work/delivery-destinations.ts'
import type { Pacer } from './pacer.ts'

/** Writes what changed, one write after the other: who waits for it knows that all before it is written. */
export function pacingWriter(db: Db, pacer: Pacer): () => Promise<void> {
  let writing = Promise.resolve()
  const write = async (): Promise<void> => {
    const changed = pacer.takeChanged()
    try {
      await writePacing(db, changed)
    } catch (error) {
      pacer.putBack(changed)
      throw error
    }
  }
  return async () => {
    writing = writing.then(write, write)
    await writing
  }
}

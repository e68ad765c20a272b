import { ping } from '../../core/db/connection/ping.ts'
import { isConnected } from '../../core/nats.ts'
import { within } from '../../core/within.ts'
import type { Deps } from '../deps.ts'

/** Anybody may ask: however often they do, the services are asked once in this time. */
const KEPT_MS = 1_000
const ANSWER_MS = 2_000

/** Tells whether the API can answer. Names no service: its port may be open to everybody. */
export function openHealth({ db, nats }: Pick<Deps, 'db' | 'nats'>): () => Promise<boolean> {
  let askedAt = Number.NEGATIVE_INFINITY
  let answer = Promise.resolve(true)
  return async () => {
    if (performance.now() - askedAt > KEPT_MS) {
      askedAt = performance.now()
      const pinged = ping(db).then(
        () => isConnected(nats),
        () => false,
      )
      answer = within(ANSWER_MS, pinged, () => false)
    }
    return await answer
  }
}

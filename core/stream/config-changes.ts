import { z } from 'zod'

import type { Clock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { liveProcesses } from '../db/processes.ts'
import { isConnected, type NatsConnection } from './nats.ts'
import { CONFIG_CHANGED } from './subjects.ts'

const ConfigChange = z.object({
  kind: z.enum(['organisation', 'source', 'destination']),
  id: z.string(),
})
const Notice = z.object({ changes: z.array(ConfigChange) })

/** Something that ingest or a worker keeps in memory is no longer what it was. */
export type ConfigChange = z.infer<typeof ConfigChange>

/** A write is answered after this time even when a process has not acknowledged it: its poll heals it. */
const ACKNOWLEDGE_WAIT_MS = 2_000

/**
 * Tells every process of a committed change and returns when each live ingest process has forgotten the old state,
 * or after 2 s. (decisions: Ingest, "What a 201 or 200 of the management API said holds at ingest at once")
 */
export async function announceChanges(
  deps: { nats: NatsConnection; db: Db; clock: Clock },
  changes: readonly ConfigChange[],
): Promise<void> {
  const missing = new Set(await liveProcesses(deps.db, 'ingest', deps.clock.now()))
  const notice = JSON.stringify({ changes })
  if (missing.size === 0) {
    if (isConnected(deps.nats)) deps.nats.publish(CONFIG_CHANGED, notice)
    return
  }
  const inbox = `_INBOX.${crypto.randomUUID()}`
  const answers = deps.nats.subscribe(inbox)
  const timer = setTimeout(() => answers.unsubscribe(), ACKNOWLEDGE_WAIT_MS)
  if (isConnected(deps.nats)) deps.nats.publish(CONFIG_CHANGED, notice, { reply: inbox })
  for await (const answer of answers) {
    missing.delete(answer.string())
    if (missing.size === 0) break
  }
  clearTimeout(timer)
}

/** Calls `forget` for each notice and answers with `processId` when it is done. Ends when the connection closes. */
export async function followNotices(
  nats: NatsConnection,
  processId: string,
  forget: (changes: readonly ConfigChange[]) => void,
): Promise<void> {
  for await (const message of nats.subscribe(CONFIG_CHANGED)) {
    forget(Notice.parse(message.json()).changes)
    message.respond(processId)
  }
}

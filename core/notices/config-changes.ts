import { z } from 'zod'

import type { Logger } from '../log.ts'
import type { NatsConnection } from '../nats.ts'
import { askProcesses, type AskDeps } from './ask-processes.ts'
import { CONFIG_CHANGED } from './notice-subjects.ts'

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
 * and each live worker that of a destination, or after 2 s. (decisions: Ingest, on the answers 201 and 200 of the
 * management API)
 */
export async function announceChanges(
  deps: AskDeps,
  changes: readonly ConfigChange[],
): Promise<void> {
  const data = JSON.stringify({ changes })
  const withWorkers = changes.some(({ kind }) => kind === 'destination')
  await askProcesses(deps, CONFIG_CHANGED, { data, waitMs: ACKNOWLEDGE_WAIT_MS, withWorkers })
}

/**
 * Calls `forget` for each notice and answers with `processId` when it is done. Ends when the connection closes. A notice that
 * cannot be read (a newer version may send it) or that `forget` fails on is not acknowledged: the poll heals it.
 */
export async function followNotices(
  nats: NatsConnection,
  { processId, log }: { processId: string; log: Logger },
  forget: (changes: readonly ConfigChange[]) => void | Promise<void>,
): Promise<void> {
  for await (const message of nats.subscribe(CONFIG_CHANGED)) {
    try {
      await forget(Notice.parse(message.json()).changes)
      message.respond(processId)
    } catch (err) {
      log.warn({ err }, 'Cannot act on a notice of a change: the poll will')
    }
  }
}

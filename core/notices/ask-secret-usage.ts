import type { Logger } from '../log.ts'
import type { NatsConnection } from '../nats.ts'
import { askProcesses, type AskDeps } from './ask-processes.ts'
import { SECRET_USAGE_WANTED } from './notice-subjects.ts'

/** (decisions: Rotation, keys, roles) */
const FLUSH_WAIT_MS = 500

/** Has every live ingest process write what it counted of secrets. False when one did not within 500 ms. */
export async function flushSecretUsage(deps: AskDeps): Promise<boolean> {
  return await askProcesses(deps, SECRET_USAGE_WANTED, { data: '', waitMs: FLUSH_WAIT_MS })
}

/** Answers with `processId` when `flush` has written everything, and not at all when it failed. */
export async function answerFlushes(
  { nats, log }: { nats: NatsConnection; log: Logger },
  processId: string,
  flush: () => Promise<void>,
): Promise<void> {
  for await (const message of nats.subscribe(SECRET_USAGE_WANTED)) {
    try {
      await flush()
      message.respond(processId)
    } catch (err) {
      log.warn({ err }, 'Cannot write how secrets are used')
    }
  }
}

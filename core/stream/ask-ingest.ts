import type { Clock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { liveProcesses } from '../db/processes.ts'
import { isConnected, type NatsConnection } from './nats.ts'

export interface AskDeps {
  nats: NatsConnection
  db: Db
  clock: Clock
}

/**
 * Publishes a message and waits until each live ingest process, and each live worker when asked for, has answered it
 * with its id. False when one has not within `waitMs`.
 */
export async function askIngest(
  { nats, db, clock }: AskDeps,
  subject: string,
  { data, waitMs, withWorkers }: { data: string; waitMs: number; withWorkers?: boolean },
): Promise<boolean> {
  const missing = new Set(await liveProcesses(db, 'ingest', clock.now()))
  const workers = withWorkers === true ? await liveProcesses(db, 'worker', clock.now()) : []
  for (const worker of workers) missing.add(worker)
  if (missing.size === 0) {
    if (isConnected(nats)) nats.publish(subject, data)
    return true
  }
  const inbox = `_INBOX.${crypto.randomUUID()}`
  const answers = nats.subscribe(inbox)
  const timer = setTimeout(() => answers.unsubscribe(), waitMs)
  if (isConnected(nats)) nats.publish(subject, data, { reply: inbox })
  for await (const answer of answers) {
    missing.delete(answer.string())
    if (missing.size === 0) break
  }
  clearTimeout(timer)
  answers.unsubscribe()
  return missing.size === 0
}

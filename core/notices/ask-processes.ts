import type { Msg } from '@nats-io/transport-node'

import type { Db } from '../db/connection/db.ts'
import { liveProcesses } from '../db/processes/processes.ts'
import { isConnected, type NatsConnection } from '../nats.ts'

export interface AskDeps {
  nats: NatsConnection
  db: Db
}

/**
 * Publishes a message and waits until each live ingest process, and each live worker when asked for, has answered it
 * with its id. False when one has not within `waitMs`.
 */
export async function askProcesses(
  { nats, db }: AskDeps,
  subject: string,
  { data, waitMs, withWorkers }: { data: string; waitMs: number; withWorkers?: boolean },
): Promise<boolean> {
  const asked = new Set(await liveProcesses(db, 'ingest'))
  const workers = withWorkers === true ? await liveProcesses(db, 'worker') : []
  for (const worker of workers) asked.add(worker)
  if (asked.size === 0) {
    if (isConnected(nats)) nats.publish(subject, data)
    return true
  }
  return await gatherAnswers(nats, { subject, data, asked, waitMs }, (answer) => answer.string())
}

/**
 * Publishes a message and hears answers until all of `asked` have given theirs. `hear` returns whose an answer is, or
 * null when no other will come. False when one is missing after `waitMs`.
 */
export async function gatherAnswers(
  nats: NatsConnection,
  question: { subject: string; data: string; asked: Iterable<string>; waitMs: number },
  hear: (answer: Msg) => string | null,
): Promise<boolean> {
  const missing = new Set(question.asked)
  const inbox = `_INBOX.${crypto.randomUUID()}`
  const answers = nats.subscribe(inbox)
  const timer = setTimeout(() => answers.unsubscribe(), question.waitMs)
  if (isConnected(nats)) nats.publish(question.subject, question.data, { reply: inbox })
  for await (const answer of answers) {
    const id = hear(answer)
    if (id === null) break
    missing.delete(id)
    if (missing.size === 0) break
  }
  clearTimeout(timer)
  answers.unsubscribe()
  return missing.size === 0
}

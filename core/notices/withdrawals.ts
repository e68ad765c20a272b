import { z } from 'zod'

import { liveProcesses } from '../db/processes/processes.ts'
import { isConnected, type NatsConnection } from '../nats.ts'
import { gatherAnswers, type AskDeps } from './ask-processes.ts'
import { WITHDRAW } from './notice-subjects.ts'

const Withdrawal = z.object({
  /** Deliveries about to be cancelled, with the lease under which a worker may have them. */
  deliveries: z.array(
    z.object({ id: z.string(), destinationId: z.string(), leaseUntilMs: z.number() }),
  ),
  /** Deleted connections and destinations: the process that has a delivery for them cancels it. */
  deleted: z.array(z.string()),
})

/** Deliveries that no worker may begin to send any more. */
export type Withdrawal = z.infer<typeof Withdrawal>

const Answer = z.object({ worker: z.string(), underWay: z.array(z.string()) })

/** Ids in one message, far below what NATS carries. */
const IDS_MAX = 5_000

/** A worker answers from memory: one that takes longer is dead or frozen. */
const ANSWER_WAIT_MS = 1_000

/** A worker that was frozen for less than this may still send what it has in memory. */
const WORKER_LIVE_MS = 10_000

/**
 * Makes every worker let go of deliveries. When `isComplete`, no attempt of them begins any more under the lease that
 * was named, except those that are `underWay`. Otherwise a worker that seems to live has not answered in time.
 */
export async function withdraw(
  { nats, db }: AskDeps,
  withdrawal: Withdrawal,
): Promise<{ underWay: Set<string>; isComplete: boolean }> {
  const underWay = new Set<string>()
  if (withdrawal.deliveries.length + withdrawal.deleted.length === 0) {
    return { underWay, isComplete: true }
  }
  const asked = await liveProcesses(db, 'worker', WORKER_LIVE_MS)
  if (asked.length === 0) return { underWay, isComplete: true }
  if (!isConnected(nats)) return { underWay, isComplete: false }
  const question = { subject: WITHDRAW, data: JSON.stringify(withdrawal), asked }
  const isComplete = await gatherAnswers(
    nats,
    { ...question, waitMs: ANSWER_WAIT_MS },
    (message) => {
      // Without a body NATS itself says that nobody listens.
      if (message.data.length === 0) return null
      const answer = Answer.parse(message.json())
      for (const id of answer.underWay) underWay.add(id)
      return answer.worker
    },
  )
  return { underWay, isComplete }
}

/**
 * To be called after the deletion was committed. A worker that does not answer in time finds what is gone when it next
 * claims. (decisions: Delivery, "cancelled")
 */
export async function withdrawDeleted(deps: AskDeps, ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += IDS_MAX) {
    await withdraw(deps, { deliveries: [], deleted: ids.slice(from, from + IDS_MAX) })
  }
}

/** Calls `take` for each withdrawal and answers with the deliveries, of those named, that are being sent. */
export async function followWithdrawals(
  nats: NatsConnection,
  workerId: string,
  take: (withdrawal: Withdrawal) => string[],
): Promise<void> {
  for await (const message of nats.subscribe(WITHDRAW)) {
    const withdrawal = Withdrawal.safeParse(message.json())
    // An unreadable withdrawal of a newer version gets no answer: it must not pass for done.
    if (!withdrawal.success) continue
    const underWay = take(withdrawal.data)
    message.respond(JSON.stringify({ worker: workerId, underWay } satisfies z.infer<typeof Answer>))
  }
}

import { errors, type Msg, type Subscription } from '@nats-io/transport-node'
import { z } from 'zod'

import { isConnected, type NatsConnection } from '../nats.ts'
import { TEST_DELIVERY } from './notice-subjects.ts'

const TestDelivery = z.object({
  destinationId: z.string(),
  projectId: z.string(),
  /** Absent from a process of the version before. */
  organisationId: z.string().optional(),
  /** The share of the organisation. Absent from a process of the version before. */
  share: z.string().optional(),
  /** Retention class of the organisation. */
  class: z.number(),
  headers: z.array(z.tuple([z.string(), z.string()])),
  bodyBase64: z.string(),
})

/** An attempt that a person asked for; any worker makes it at once. */
export type TestDelivery = z.infer<typeof TestDelivery>

const TestOutcome = z.discriminatedUnion('kind', [
  /** The attempt was made and is stored, whatever came of it. */
  z.object({ kind: z.literal('made'), deliveryId: z.string() }),
  z.object({ kind: z.literal('not_public') }),
  z.object({ kind: z.literal('deleted') }),
  /** The worker makes as many as it may, or could not store it; or as many as it may of the organisation. */
  z.object({ kind: z.literal('unavailable'), isShareSpent: z.boolean().optional() }),
])

export type TestOutcome = z.infer<typeof TestOutcome>

/** Queue group: any one worker gets each test, because tests are outside pacing and partitions. */
const QUEUE = 'workers'

/** Asks a worker. `unavailable` when none answers within `waitMs`. */
export async function requestTest(
  nats: NatsConnection,
  test: TestDelivery,
  waitMs: number,
): Promise<TestOutcome> {
  if (!isConnected(nats)) return { kind: 'unavailable' }
  try {
    const answer = await nats.request(TEST_DELIVERY, JSON.stringify(test), { timeout: waitMs })
    return TestOutcome.parse(answer.json())
  } catch (error) {
    if (isUnanswered(error)) return { kind: 'unavailable' }
    throw error
  }
}

/** Calls `make` for each test that comes to this worker and answers with its outcome. */
export function serveTests(
  nats: NatsConnection,
  make: (test: TestDelivery) => Promise<TestOutcome>,
): { stop(): void } {
  const subscription = nats.subscribe(TEST_DELIVERY, { queue: QUEUE })
  void serve(subscription, make)
  return { stop: () => subscription.unsubscribe() }
}

async function serve(
  subscription: Subscription,
  make: (test: TestDelivery) => Promise<TestOutcome>,
): Promise<void> {
  for await (const message of subscription) {
    const test = TestDelivery.safeParse(message.json())
    // A request of a newer version that we cannot read times out at its sender.
    if (test.success) void respondTo(message, make(test.data))
  }
}

async function respondTo(message: Msg, made: Promise<TestOutcome>): Promise<void> {
  message.respond(JSON.stringify(await made))
}

/** Nobody there, or nobody in time. */
function isUnanswered(error: unknown): boolean {
  return (
    error instanceof errors.TimeoutError ||
    (error instanceof errors.RequestError && error.isNoResponders()) ||
    (error instanceof Error && error.cause instanceof errors.TimeoutError)
  )
}

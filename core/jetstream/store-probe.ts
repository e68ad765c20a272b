import { jetstream, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import { RequestError } from '@nats-io/transport-node'

import type { NatsConnection } from '../nats.ts'
import { DELIVERY_PROBE, DELIVERY_STREAM } from './stream-subjects.ts'

const ANSWER_MS = 3_000

/**
 * Tells whether the server stores messages of the delivery stream. After its disk was full once, a server answers no
 * publisher until it is restarted, however much room there is (NATS 2.9 and 2.15). A refusal counts as an answer; without
 * the stream, any answer of JetStream does.
 */
export async function storesDeliveries(nats: NatsConnection): Promise<boolean> {
  const manager = await jetstreamManager(nats, { checkAPI: false, timeout: ANSWER_MS })
  try {
    await jetstream(nats).publish(DELIVERY_PROBE, '', { timeout: ANSWER_MS })
    await manager.streams.purge(DELIVERY_STREAM, { filter: DELIVERY_PROBE })
    return true
  } catch (error) {
    if (error instanceof JetStreamApiError) return true
    return hasNoTaker(error) && (await answers(() => manager.getAccountInfo()))
  }
}

function hasNoTaker(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof RequestError && cause.isNoResponders()
}

async function answers(ask: () => Promise<unknown>): Promise<boolean> {
  return await ask().then(
    () => true,
    () => false,
  )
}

import { jetstream, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import { RequestError } from '@nats-io/transport-node'

import type { NatsConnection } from './nats.ts'
import { DELIVERY_PROBE, DELIVERY_STREAM } from './subjects.ts'

const ANSWER_MS = 3_000

/**
 * Whether the server stores what is published to the delivery stream. One whose disk was full once answers no publisher
 * any more, however much room there is, until it is started again (seen with NATS 2.9 and 2.15). A refusal is an answer;
 * and while there is no such stream, that JetStream answers must do.
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

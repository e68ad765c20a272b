import type { JetStreamManager } from '@nats-io/jetstream'

import { DELIVERY_STREAM } from './stream-subjects.ts'

/** Messages that no worker has acked yet, each with up to 64 deliveries. */
export async function streamDepth(
  manager: JetStreamManager,
): Promise<{ messages: number; bytes: number }> {
  const { state } = await manager.streams.info(DELIVERY_STREAM)
  return { messages: state.messages, bytes: state.bytes }
}

import {
  AckPolicy,
  DiscardPolicy,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
} from '@nats-io/jetstream'

import type { NatsConnection } from './nats.ts'
import { DELIVERY_CONSUMER, DELIVERY_STREAM, DELIVERY_SUBJECTS } from './subjects.ts'

/** What the stream refuses beyond this is the sweeper's. (architecture: Delivery) */
const STREAM_BYTES_MAX = 2 * 1024 * 1024 * 1024

/** Messages in workers' hands at once: rate times the slowest attempt, parked ones excluded. */
const ACKS_PENDING_MAX = 10_000

const ACK_WAIT_MS = 90_000

const nanos = (ms: number): number => ms * 1_000_000

/** Makes the stream and its consumer, or brings them to their present settings. Safe to run from every process. */
export async function ensureDeliveryStream(nats: NatsConnection): Promise<JetStreamManager> {
  const manager = await jetstreamManager(nats)
  const stream = {
    subjects: [DELIVERY_SUBJECTS],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_bytes: STREAM_BYTES_MAX,
  }
  const names = await manager.streams.names(DELIVERY_SUBJECTS).next()
  if (names.includes(DELIVERY_STREAM)) await manager.streams.update(DELIVERY_STREAM, stream)
  else await manager.streams.add({ name: DELIVERY_STREAM, ...stream })
  await manager.consumers.add(DELIVERY_STREAM, {
    durable_name: DELIVERY_CONSUMER,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_ack_pending: ACKS_PENDING_MAX,
    max_deliver: -1,
  })
  return manager
}

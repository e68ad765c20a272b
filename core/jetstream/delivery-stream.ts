import {
  AckPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type ConsumerInfo,
  type JetStreamManager,
} from '@nats-io/jetstream'

import type { NatsConnection } from '../nats.ts'
import {
  deliveryConsumer,
  DELIVERY_STREAM,
  DELIVERY_SUBJECTS,
  deliverySubject,
} from './stream-subjects.ts'

/** The sweeper takes deliveries that the stream refuses beyond this. (architecture: Delivery) */
const STREAM_BYTES_MAX = 2 * 1024 * 1024 * 1024

/** Copies of the stream where a cluster has servers and room for them: the loss of a server then holds deliveries up for seconds. */
const COPIES = 3

/** Messages of one partition in its owner's hands at once: rate times the slowest attempt, parked ones excluded. */
export const ACKS_PENDING_MAX = 10_000

const ACK_WAIT_MS = 90_000

/** The single consumer of all partitions that an old version had. */
const FORMER_CONSUMER = 'worker'

/** Error codes of NATS for a consumer that overlaps another one of a work queue. */
const OVERLAPS = [10_099, 10_100]

const nanos = (ms: number): number => ms * 1_000_000

const STREAM = {
  subjects: [DELIVERY_SUBJECTS],
  retention: RetentionPolicy.Workqueue,
  storage: StorageType.File,
  discard: DiscardPolicy.New,
  max_bytes: STREAM_BYTES_MAX,
}

/** To manage consumers with, made without asking the server. */
export async function deliveryManager(nats: NatsConnection): Promise<JetStreamManager> {
  return await jetstreamManager(nats, { checkAPI: false })
}

/** Makes the stream, or brings it to its present settings. Safe to run from every process. */
export async function ensureDeliveryStream(nats: NatsConnection): Promise<JetStreamManager> {
  const manager = await jetstreamManager(nats)
  await ensureStream(manager)
  return manager
}

async function ensureStream(manager: JetStreamManager): Promise<void> {
  const names = await manager.streams.names(DELIVERY_SUBJECTS).next()
  if (!names.includes(DELIVERY_STREAM)) {
    const wanted = { name: DELIVERY_STREAM, ...STREAM }
    const isCopied = await isGranted(manager.streams.add({ ...wanted, num_replicas: COPIES }))
    if (!isCopied) await manager.streams.add(wanted)
    return
  }
  const { config, cluster } = await manager.streams.info(DELIVERY_STREAM)
  if (config.max_bytes !== STREAM.max_bytes || config.discard !== STREAM.discard) {
    await manager.streams.update(DELIVERY_STREAM, STREAM)
  }
  if (cluster !== undefined && config.num_replicas < COPIES) {
    await isGranted(manager.streams.update(DELIVERY_STREAM, { num_replicas: COPIES }))
  }
}

/** A server alone, and a cluster without servers or room for the copies, refuse them. */
async function isGranted(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked
    return true
  } catch (error) {
    if (error instanceof JetStreamApiError) return false
    throw error
  }
}

/**
 * Makes the consumer of a partition, and the stream when the server came back without its store. Only for the
 * partition's owner: the former consumer of all partitions makes way, and its messages are the new ones'. The answer
 * tells whether it is the one that was there before.
 */
export async function ensureDeliveryConsumer(
  manager: JetStreamManager,
  partition: number,
): Promise<ConsumerInfo> {
  try {
    return await addConsumer(manager, partition)
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error
    if (OVERLAPS.includes(error.code)) await deleteConsumer(manager, FORMER_CONSUMER)
    else if (error.code === JetStreamApiCodes.StreamNotFound) await ensureStream(manager)
    else throw error
    return await addConsumer(manager, partition)
  }
}

async function addConsumer(manager: JetStreamManager, partition: number): Promise<ConsumerInfo> {
  return await manager.consumers.add(DELIVERY_STREAM, {
    durable_name: deliveryConsumer(partition),
    filter_subject: deliverySubject(partition),
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_ack_pending: ACKS_PENDING_MAX,
    max_deliver: -1,
  })
}

/** Deletes a consumer. The owner of its partition is told and creates it again. */
export async function deleteDeliveryConsumer(
  manager: JetStreamManager,
  partition: number,
): Promise<void> {
  await deleteConsumer(manager, deliveryConsumer(partition))
}

/** Another process may have done it in the meantime. */
async function deleteConsumer(manager: JetStreamManager, name: string): Promise<void> {
  try {
    await manager.consumers.delete(DELIVERY_STREAM, name)
  } catch (error) {
    const isGone =
      error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound
    if (!isGone) throw error
  }
}

import {
  DiscardPolicy,
  jetstream,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamManager,
} from '@nats-io/jetstream'

import type { NatsConnection } from '../nats.ts'
import { SPOOL_REFUSED, SPOOL_STREAM, SPOOL_SUBJECTS } from './stream-subjects.ts'

/** How long a key that was spooled is remembered. Each costs the server some 100 bytes meanwhile. */
const DUPLICATE_WINDOW_MS = 3_600_000

/** A server that was lost answers nothing, and another soon does. */
const ACK_TIMEOUT_MS = 2_000

/** Error code of a cluster while it elects a leader. */
const NO_LEADER = 10_008

export interface SpoolSize {
  replicas: number
  maxBytes: number
}

/** Events of each subject that has some. */
export type SpoolLengths = Readonly<Record<string, number>>

/** Makes the stream, or brings it to its present settings. Returns how many events it has to be stored. */
export async function ensureSpool(
  manager: JetStreamManager,
  size: SpoolSize,
): Promise<SpoolLengths> {
  const { replicas: num_replicas, maxBytes: max_bytes } = size
  try {
    const { config, state } = await manager.streams.info(SPOOL_STREAM, {
      subjects_filter: SPOOL_SUBJECTS,
    })
    if (config.max_bytes !== max_bytes || config.num_replicas !== num_replicas) {
      await manager.streams.update(SPOOL_STREAM, { max_bytes, num_replicas })
    }
    const { [SPOOL_REFUSED]: _, ...lengths } = state.subjects ?? {}
    return lengths
  } catch (error) {
    if (!isStreamMissing(error)) throw error
    await manager.streams.add({
      name: SPOOL_STREAM,
      subjects: [SPOOL_SUBJECTS],
      // Nothing is consumed: what was stored is purged from the front, so that the order has no exception.
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      duplicate_window: DUPLICATE_WINDOW_MS * 1_000_000,
      num_replicas,
      max_bytes,
    })
    return {}
  }
}

/** Resolves once the server has made the event durable, or had one of this key already. Throws when it did not say so. */
export async function appendToSpool(
  nats: NatsConnection,
  { subject, data, key }: { subject: string; data: Uint8Array; key: string | undefined },
): Promise<{ isDuplicate: boolean; sequence: number }> {
  const { duplicate, seq } = await jetstream(nats).publish(subject, data, {
    timeout: ACK_TIMEOUT_MS,
    expect: { streamName: SPOOL_STREAM },
    ...(key !== undefined && { msgID: key }),
  })
  return { isDuplicate: duplicate, sequence: seq }
}

/** Whether the server said no, for a reason that is there a moment later too: the spool is full. */
export function isRefusal(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code !== NO_LEADER
}

/** Reads the spooled event with this sequence; undefined when it is stored and gone. */
export async function spooledAt(
  manager: JetStreamManager,
  sequence: number,
): Promise<Uint8Array | undefined> {
  return (await manager.streams.getMessage(SPOOL_STREAM, { seq: sequence }))?.data
}

/** Removes the events of a share up to and including one that was read. */
export async function removeFromSpool(
  manager: JetStreamManager,
  share: string,
  through: number,
): Promise<void> {
  await manager.streams.purge(SPOOL_STREAM, { filter: share, seq: through + 1 })
}

/** Puts an event aside that PostgreSQL refuses for its data: it is kept, and does not stand in the way. */
export async function setAside(nats: NatsConnection, data: Uint8Array): Promise<void> {
  await jetstream(nats).publish(SPOOL_REFUSED, data, { timeout: ACK_TIMEOUT_MS })
}

function isStreamMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound
}

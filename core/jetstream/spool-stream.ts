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
import { SPOOL_EVENTS, SPOOL_REFUSED, SPOOL_STREAM, SPOOL_SUBJECTS } from './stream-subjects.ts'

/** How long a key that was spooled is remembered. Each costs the server some 100 bytes meanwhile. */
const DUPLICATE_WINDOW_MS = 3_600_000

/** A server that was lost answers nothing, and another soon does. */
const ACK_TIMEOUT_MS = 2_000

/** Error code of a cluster while it elects a leader. */
const NO_LEADER = 10_008

/** Messages that are read at once: of the largest bodies some 60 MB. */
const READ_AHEAD = 8

export interface SpoolSize {
  replicas: number
  maxBytes: number
}

export interface SpooledMessage {
  sequence: number
  data: Uint8Array
}

/** Makes the stream, or brings it to its present settings. Returns how many events it holds. */
export async function ensureSpool(manager: JetStreamManager, size: SpoolSize): Promise<number> {
  const { replicas: num_replicas, maxBytes: max_bytes } = size
  try {
    const { config, state } = await manager.streams.info(SPOOL_STREAM, {
      subjects_filter: SPOOL_EVENTS,
    })
    if (config.max_bytes !== max_bytes || config.num_replicas !== num_replicas) {
      await manager.streams.update(SPOOL_STREAM, { max_bytes, num_replicas })
    }
    return state.subjects?.[SPOOL_EVENTS] ?? 0
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
    return 0
  }
}

/** Resolves once the server has made the event durable, or had one of this key already. Throws when it did not say so. */
export async function appendToSpool(
  nats: NatsConnection,
  data: Uint8Array,
  key: string | undefined,
): Promise<{ isDuplicate: boolean; sequence: number }> {
  const { duplicate, seq } = await jetstream(nats).publish(SPOOL_EVENTS, data, {
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

/** The oldest events, in order: at most `limit` and about `bytesMax`. Empty when there are none. */
export async function readSpool(
  manager: JetStreamManager,
  { limit, bytesMax }: { limit: number; bytesMax: number },
): Promise<SpooledMessage[]> {
  const query = { seq: 1, next_by_subj: SPOOL_EVENTS }
  const first = await manager.streams.getMessage(SPOOL_STREAM, query)
  if (first === null) return []
  const messages: SpooledMessage[] = [{ sequence: first.seq, data: first.data }]
  let bytes = first.data.length
  for (let next = first.seq + 1; bytes < bytesMax && messages.length < limit; next += READ_AHEAD) {
    const ahead = Array.from({ length: READ_AHEAD }, (_, index) => next + index)
    const read = await Promise.all(
      ahead.map((seq) => manager.streams.getMessage(SPOOL_STREAM, { seq })),
    )
    for (const message of read) {
      // A missing number is the end. Events may have come since: to read past it would have them purged unread.
      if (message === null) return messages
      bytes += message.data.length
      if (message.subject === SPOOL_EVENTS) {
        messages.push({ sequence: message.seq, data: message.data })
      }
    }
  }
  return messages
}

/** Removes the events up to and including one that was read. */
export async function removeFromSpool(manager: JetStreamManager, through: number): Promise<void> {
  await manager.streams.purge(SPOOL_STREAM, { filter: SPOOL_EVENTS, seq: through + 1 })
}

/** Puts an event aside that PostgreSQL refuses for its data: it is kept, and does not stand in the way. */
export async function setAside(nats: NatsConnection, data: Uint8Array): Promise<void> {
  await jetstream(nats).publish(SPOOL_REFUSED, data, { timeout: ACK_TIMEOUT_MS })
}

function isStreamMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound
}

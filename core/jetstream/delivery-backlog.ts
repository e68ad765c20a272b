import type { ConsumerInfo, JetStreamManager } from '@nats-io/jetstream'

import { LEASE_MS, PARTITIONS } from '../limits.ts'
import { ACKS_PENDING_MAX } from './delivery-stream.ts'
import { deliveryConsumer, DELIVERY_STREAM, deliverySubject } from './stream-subjects.ts'

/** A partition whose oldest message that no worker has seen is older than its lease. */
export interface Line {
  partition: number
  /** Sequence of the last message that a worker got: it rises while the queue moves. */
  reachedSeq: number
  /** Its worker asks for messages and may have more. */
  isAskedFor: boolean
}

/** Finds partitions whose overdue deliveries still queue in the stream. Costs one request while the stream holds nothing old. */
export async function findLines(manager: JetStreamManager, nowMs: number): Promise<Line[]> {
  const { state } = await manager.streams.info(DELIVERY_STREAM)
  const isOld = (time: Date): boolean => nowMs - time.getTime() > LEASE_MS
  if (state.messages === 0 || !isOld(new Date(state.first_ts))) return []
  const consumers = new Map<string, ConsumerInfo>()
  for await (const info of manager.consumers.list(DELIVERY_STREAM)) consumers.set(info.name, info)
  const lines: Line[] = []
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const consumer = consumers.get(deliveryConsumer(partition))
    if (consumer?.num_pending === 0) continue
    const reachedSeq = consumer?.delivered.stream_seq ?? 0
    const query = { seq: reachedSeq + 1, next_by_subj: deliverySubject(partition) }
    const next = await manager.streams.getMessage(DELIVERY_STREAM, query)
    if (next === null || !isOld(next.time)) continue
    lines.push({
      partition,
      reachedSeq,
      isAskedFor: consumer !== undefined && isAskedFor(consumer),
    })
  }
  return lines
}

/** Somebody may have paused it (NATS 2.11), which is no reason to replace it. */
function isAskedFor(consumer: ConsumerInfo): boolean {
  return (
    consumer.num_waiting > 0 &&
    consumer.num_ack_pending < ACKS_PENDING_MAX &&
    consumer.paused !== true
  )
}

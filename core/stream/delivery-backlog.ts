import type { ConsumerInfo, JetStreamManager } from '@nats-io/jetstream'

import { LEASE_MS, PARTITIONS } from '../limits.ts'
import { deliveryConsumer, DELIVERY_STREAM, deliverySubject } from './subjects.ts'

/**
 * The partitions whose oldest message that no worker has seen is older than its lease: what looks overdue there only
 * stands in line. Costs one request while the stream holds nothing old.
 */
export async function partitionsInLine(
  manager: JetStreamManager,
  nowMs: number,
): Promise<ReadonlySet<number>> {
  const inLine = new Set<number>()
  const { state } = await manager.streams.info(DELIVERY_STREAM)
  const isOld = (time: Date): boolean => nowMs - time.getTime() > LEASE_MS
  if (state.messages === 0 || !isOld(new Date(state.first_ts))) return inLine
  const consumers = new Map<string, ConsumerInfo>()
  for await (const info of manager.consumers.list(DELIVERY_STREAM)) consumers.set(info.name, info)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const consumer = consumers.get(deliveryConsumer(partition))
    if (consumer?.num_pending === 0) continue
    const seq = (consumer?.delivered.stream_seq ?? 0) + 1
    const query = { seq, next_by_subj: deliverySubject(partition) }
    const next = await manager.streams.getMessage(DELIVERY_STREAM, query)
    if (next !== null && isOld(next.time)) inLine.add(partition)
  }
  return inLine
}

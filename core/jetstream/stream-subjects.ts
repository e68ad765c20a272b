import { bytesOfUuid } from '../ids.ts'

export const DELIVERY_STREAM = 'DELIVERIES'
export const DELIVERY_SUBJECTS = 'dl.*'

/** Subject of no partition: a message stored there proves that the server stores, and is removed. */
export const DELIVERY_PROBE = 'dl.probe'

/** Events that were accepted while PostgreSQL was away; and those of them that it refused afterwards. */
export const SPOOL_STREAM = 'SPOOL'
export const SPOOL_SUBJECTS = 'spool.*'
export const SPOOL_REFUSED = 'spool.refused'

/** Shares of the spool: each is stored in order, by one process at a time. */
const SHARES = 8

/** The subject of each share. Earlier versions spool to the first one, which is drained like any other. */
export const SPOOL_SHARES: readonly string[] = [
  'spool.events',
  ...Array.from({ length: SHARES }, (_, share) => `spool.${share}`),
]

/** The share of a source: its events are stored in the order of arrival. The last byte of a UUIDv7 is random. */
export function spoolSubject(sourceId: string): string {
  return `spool.${bytesOfUuid(sourceId).readUInt8(15) % SHARES}`
}

export function deliverySubject(partition: number): string {
  return `dl.${partition}`
}

/** The durable consumer of a partition. */
export function deliveryConsumer(partition: number): string {
  return `partition-${partition}`
}

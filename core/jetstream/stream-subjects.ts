export const DELIVERY_STREAM = 'DELIVERIES'
export const DELIVERY_SUBJECTS = 'dl.*'

/** Subject of no partition: a message stored there proves that the server stores, and is removed. */
export const DELIVERY_PROBE = 'dl.probe'

/** Events that were accepted while PostgreSQL was away; and those of them that it refused afterwards. */
export const SPOOL_STREAM = 'SPOOL'
export const SPOOL_SUBJECTS = 'spool.*'
export const SPOOL_EVENTS = 'spool.events'
export const SPOOL_REFUSED = 'spool.refused'

export function deliverySubject(partition: number): string {
  return `dl.${partition}`
}

/** The durable consumer of a partition. */
export function deliveryConsumer(partition: number): string {
  return `partition-${partition}`
}

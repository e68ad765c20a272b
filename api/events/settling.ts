import type { EventSummary } from '../../core/db/events/events.ts'

export interface EventPage {
  events: EventSummary[]
  /** The page goes on behind this id; undefined at the end. */
  nextId: string | undefined
  search?: { isTruncated: boolean; searchedThrough: string }
}

/** From when an id is made to when its transaction begins, in an ingest process that is not stalled. */
export const STORE_DELAY_MS = 25

/** Transactions of ingest are given up after 5 s; what is older than this is settled without a look. */
export const SETTLED_AFTER_MS = 10_000

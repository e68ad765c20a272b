import { DAY_MS } from '../../clock.ts'
import { firstIdAt, idAfter, timeOfId } from '../../ids.ts'
import { RETENTION_CLASSES } from '../../limits.ts'

/** Ids from the first, before the second; undefined is open. */
export interface IdRange {
  fromId: string | undefined
  untilId: string | undefined
}

export type Direction = 'asc' | 'desc'

/** Planning a statement costs as much a partition as running it: a page seldom needs more than the first. */
const FIRST_MS = DAY_MS

/** For fewer days a plan for all of them is not worth what it takes of a connection's memory. */
const WIDE_DAYS = 8

/** Older rows were moved to partitions without days, or are about to be deleted. */
const OLDEST_DAYS = Math.max(...RETENTION_CLASSES) + 1

/**
 * Cuts a range into shorter ones, in the order of a list: first a day, then the rest. Leaves out ids more than a day ahead
 * of `nowMs`: no clock of ours is that fast.
 */
export function rangesOf(range: IdRange, dir: Direction, nowMs: number): IdRange[] {
  return dir === 'asc' ? ascending(range, nowMs) : descending(range, nowMs)
}

function descending({ fromId, untilId }: IdRange, nowMs: number): IdRange[] {
  const until = earlier(untilId, firstIdAt(nowMs + DAY_MS))
  const topMs = Math.min(timeOfId(until), nowMs)
  const edge = firstIdAt(topMs - FIRST_MS)
  if (fromId !== undefined && edge <= fromId) return withoutEmpty([{ fromId, untilId: until }])
  return withoutEmpty([
    { fromId: edge, untilId: until },
    { fromId, untilId: edge },
  ])
}

function ascending({ fromId, untilId }: IdRange, nowMs: number): IdRange[] {
  const ranges: IdRange[] = []
  const until = earlier(untilId, firstIdAt(nowMs + DAY_MS))
  const oldest = firstIdAt(nowMs - OLDEST_DAYS * DAY_MS)
  let from = fromId
  if (from === undefined || from < oldest) {
    ranges.push({ fromId, untilId: earlier(oldest, until) })
    from = oldest
  }
  const edge = firstIdAt(timeOfId(from) + FIRST_MS)
  if (edge < until) {
    ranges.push({ fromId: from, untilId: edge })
    from = edge
  }
  return withoutEmpty([...ranges, { fromId: from, untilId: until }])
}

/** Ids in text sort as they do in themselves. */
function earlier(one: string | undefined, other: string): string {
  return one !== undefined && one < other ? one : other
}

function withoutEmpty(ranges: IdRange[]): IdRange[] {
  return ranges.filter(
    ({ fromId, untilId }) => fromId === undefined || untilId === undefined || fromId < untilId,
  )
}

/** Whether it has more days than are planned for at once. */
export function isWide({ fromId, untilId }: IdRange, nowMs: number): boolean {
  const oldestMs = nowMs - OLDEST_DAYS * DAY_MS
  const fromMs = fromId === undefined ? oldestMs : Math.max(timeOfId(fromId), oldestMs)
  const untilMs = untilId === undefined ? nowMs : timeOfId(untilId)
  return untilMs - fromMs > WIDE_DAYS * DAY_MS
}

/** The part of a range behind an id, in the order of a list. */
export function behind({ fromId, untilId }: IdRange, id: string, dir: Direction): IdRange {
  if (dir === 'desc') return { fromId, untilId: earlier(untilId, id) }
  return since({ fromId, untilId }, idAfter(id))
}

/** The part of a range from an id on. */
export function since(range: IdRange, id: string | undefined): IdRange {
  const isLater = id !== undefined && (range.fromId === undefined || id > range.fromId)
  return isLater ? { ...range, fromId: id } : range
}

import { timestamp } from '../../../core/clock.ts'
import type { EventSummary as Row } from '../../../core/db/events/events.ts'
import { viewEventSummary } from '../shape.ts'

/** Messages of a stream besides events. */
export type GapReason = 'expired' | 'unknown' | 'slow'

/** An event on its way to streams; its text is made once for all of them. */
export interface StreamEvent {
  id: string
  sourceId: string
  status: string
  eventType: string | null
  text: string
}

/** How long a client waits before it connects again. (decisions: Statistics and stream) */
const RETRY_MS = 3_000

export const GREETING = `retry: ${RETRY_MS}\n\n`

export function streamEvent(row: Row): StreamEvent {
  const { id, sourceId, status, eventType } = row
  return { id, sourceId, status, eventType, text: JSON.stringify(viewEventSummary(row)) }
}

export function eventMessage(position: string, event: StreamEvent): string {
  return `id: ${position}\nevent: event.created\ndata: ${event.text}\n\n`
}

/** `ready` and `ping` carry the position too, so that a stream without events can be resumed where it is. */
export function signalMessage(name: 'ready' | 'ping', position: string | null, ms: number): string {
  const id = position === null ? '' : `id: ${position}\n`
  return `${id}event: ${name}\ndata: ${JSON.stringify({ at: timestamp(ms) })}\n\n`
}

/** Without a position: a client that was too slow resumes behind the last event that it got. */
export function gapMessage(reason: GapReason, fromMs: number | null, untilMs: number): string {
  const from = fromMs === null ? null : timestamp(fromMs)
  return `event: gap\ndata: ${JSON.stringify({ reason, from, until: timestamp(untilMs) })}\n\n`
}

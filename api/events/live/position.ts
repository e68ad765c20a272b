import { createHash } from 'node:crypto'

import type { EventWindow, Mark } from '../../../core/db/events/event-stream.ts'
import { decodeId, encodeId } from '../../../core/ids.ts'

/**
 * Tells what a client has been sent: every event below the window, and inside it those up to `afterId`. A window is read
 * in the order of ids, which is not the order of commits; with its marks another process can read it on.
 */
export interface Position extends EventWindow {
  /** Null: nothing of the window yet. */
  afterId: string | null
}

const TEXT = /^1\.([\w-]{12})\.(\d{1,19})\.(\d{1,14})\.(\d{1,19})\.(\d{1,14})\.(evt_\w{26})?$/

/** All events below the mark. */
export function positionAt(mark: Mark): Position {
  return { from: mark, until: mark, afterId: null }
}

/** The text of a position in one stream: opaque to clients, safe in a line of `id:`. */
export function writePosition(stream: string, { from, until, afterId }: Position): string {
  const id = afterId === null ? '' : encodeId('evt', afterId)
  return `1.${stream}.${from.transaction}.${from.ms}.${until.transaction}.${until.ms}.${id}`
}

/** Undefined for what is no position; `stream` is where it was made. */
export function readPosition(text: string): { stream: string; position: Position } | undefined {
  const parts = TEXT.exec(text)
  if (parts === null) return undefined
  const [, stream = '', fromTransaction = '', fromMs, untilTransaction = '', untilMs, id] = parts
  const afterId = id === undefined ? null : decodeId('evt', id)
  const from = { transaction: BigInt(fromTransaction), ms: Number(fromMs) }
  const until = { transaction: BigInt(untilTransaction), ms: Number(untilMs) }
  const isOrdered = from.transaction <= until.transaction
  if (afterId === undefined || !isOrdered) return undefined
  return { stream, position: { from, until, afterId } }
}

/** The name of a stream: the same for the same filters of the same project in the same database. */
export function streamName(binding: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(binding)).digest('base64url').slice(0, 12)
}

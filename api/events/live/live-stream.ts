import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { windowPage, type EventWindow, type Mark } from '../../../core/db/events/event-stream.ts'
import { timeOfId } from '../../../core/ids.ts'
import type { Logger } from '../../../core/log.ts'
import type { Semaphore } from '../../../core/pacing/semaphore.ts'
import type { StreamFilter } from '../../deps.ts'
import {
  eventMessage,
  gapMessage,
  GREETING,
  signalMessage,
  streamEvent,
  type GapReason,
  type StreamEvent,
} from './message.ts'
import { positionAt, writePosition, type Position } from './position.ts'
import { PAGE_EVENTS, type Follower, type ProjectTail } from './project-tail.ts'
import { StreamWriter } from './stream-writer.ts'

export interface LiveStreamOptions {
  projectId: string
  filter: StreamFilter
  /** Binds its positions to the project and filter. */
  name: string
  pingMs: number
  bufferBytes: number
  bufferMessages: number
}

interface LiveStreamDeps {
  db: Db
  clock: Clock
  log: Logger
  turns: Semaphore
  tail: ProjectTail
  /** A client was cut off for not keeping up. */
  noteSlow(): void
}

/** A client that takes nothing is cut off so long after the stream was ended. */
const END_GRACE_MS = 5_000

/** The stream of a client: first the events it missed, at its own pace, then new ones. */
export class LiveStream implements Follower {
  readonly writer: StreamWriter
  readonly #deps: LiveStreamDeps
  readonly #options: LiveStreamOptions
  #position: Position | undefined
  #takenAtPing = -1
  #isOver = false

  constructor(deps: LiveStreamDeps, options: LiveStreamOptions) {
    this.#deps = deps
    this.#options = options
    this.writer = new StreamWriter({ bytes: options.bufferBytes, messages: options.bufferMessages })
    const ping = setInterval(() => this.#ping(), options.pingMs).unref()
    this.writer.on('close', () => {
      this.#isOver = true
      clearInterval(ping)
      deps.tail.leave(this)
    })
    this.#send(GREETING, 0)
  }

  /** Begins behind `resumed`, or in the present. Ends the stream when it cannot go on. */
  async run(resumed: Position | undefined): Promise<void> {
    try {
      let mark = resumed && (await this.#catchUp(resumed))
      while (!this.#isOver) {
        const since = await this.#deps.tail.join(this, mark)
        if (since === 'live') return
        mark = await this.#catchUp({ from: mark ?? since, until: since, afterId: null })
      }
    } catch (err) {
      this.#deps.log.warn({ err }, 'Cannot resume an event stream')
      this.end()
    }
  }

  /** Says that what lies behind a position cannot be had; the stream goes on in the present. */
  sayGap(reason: GapReason, fromMs: number | null): void {
    this.#send(gapMessage(reason, fromMs, this.#deps.clock.now()), 1)
  }

  begin(since: Mark): void {
    this.#position = positionAt(since)
    this.#signal('ready')
  }

  offer(events: readonly StreamEvent[], window: EventWindow, reached: Position): void {
    if (this.#isOver) return
    this.#position = reached
    const shown = events.filter((event) => passes(this.#options.filter, event))
    const text = shown
      .map((event) => eventMessage(this.#write({ ...window, afterId: event.id }), event))
      .join('')
    if (text === '') return
    if (this.#send(text, shown.length)) this.#lastEventId = shown.at(-1)?.id
  }

  lose(): void {
    this.#cut('unknown')
  }

  /** Ends the answer; the client connects again by itself. */
  end(lastWords = ''): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deps.tail.leave(this)
    this.writer.end(lastWords)
    const timer = setTimeout(() => this.writer.destroy(), END_GRACE_MS).unref()
    this.writer.on('close', () => clearTimeout(timer))
  }

  /** For the moment that a gap began. */
  #lastEventId: string | undefined

  /** Reads a window by itself, a page whenever the client has taken the one before. Returns its end. */
  async #catchUp(start: Position): Promise<Mark> {
    const { db, turns } = this.#deps
    const { projectId, filter } = this.#options
    this.#position = start
    for (let at = start; at.from.transaction < at.until.transaction && !this.#isOver;) {
      const query = { projectId, sourceId: filter.sourceId, afterId: at.afterId }
      const { from, until } = at
      const rows = await turns.take(
        async () => await windowPage(db, at, { ...query, limit: PAGE_EVENTS }),
      )
      const afterId = rows.at(-1)?.id ?? null
      at = rows.length < PAGE_EVENTS ? positionAt(until) : { from, until, afterId }
      this.offer(rows.map(streamEvent), { from, until }, at)
      await this.writer.drained()
    }
    return start.until
  }

  #ping(): void {
    const isStuck = !this.writer.isEmpty && this.writer.taken === this.#takenAtPing
    this.#takenAtPing = this.writer.taken
    if (isStuck) this.#cut('slow')
    else this.#signal('ping')
  }

  #signal(name: 'ready' | 'ping'): void {
    const position = this.#position && this.#write(this.#position)
    this.#send(signalMessage(name, position ?? null, this.#deps.clock.now()), 1)
  }

  #write(position: Position): string {
    return writePosition(this.#options.name, position)
  }

  /** False when the client is too slow to take it: then the stream is over. */
  #send(text: string, messages: number): boolean {
    if (this.#isOver) return false
    const isTaken = this.writer.add(text, messages)
    if (!isTaken) this.#cut('slow')
    return isTaken
  }

  #cut(reason: GapReason): void {
    if (reason === 'slow') this.#deps.noteSlow()
    const fromMs = this.#lastEventId === undefined ? null : timeOfId(this.#lastEventId)
    this.end(gapMessage(reason, fromMs, this.#deps.clock.now()))
  }
}

function passes({ sourceId, status, eventType }: StreamFilter, event: StreamEvent): boolean {
  return (
    (sourceId === undefined || event.sourceId === sourceId) &&
    (status === undefined || event.status === status) &&
    (eventType === undefined || eventType(event.eventType))
  )
}

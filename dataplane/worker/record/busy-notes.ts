import type { Db } from '../../../core/db/connection/db.ts'
import { writeBusyWindow, type BusyWindow } from '../../../core/db/deliveries/work/busy-windows.ts'
import type { Logger } from '../../../core/log.ts'

/**
 * Writes down which destinations are busy, the newest word on each: 32 attempts that are answered busy at once are one
 * write or two. A word that cannot be written is dropped: it serves the next owner of the lane and whoever asks why a
 * delivery waits.
 */
export class BusyNotes {
  readonly #deps: { db: Db; log: Logger }
  readonly #unwritten = new Map<string, BusyWindow | null>()
  #isWriting = false

  constructor(deps: { db: Db; log: Logger }) {
    this.#deps = deps
  }

  /** Null: it is not busy any more. */
  note(destinationId: string, window: BusyWindow | null): void {
    this.#unwritten.set(destinationId, window)
    if (!this.#isWriting) void this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    for (const [destinationId, window] of this.#unwritten) {
      this.#unwritten.delete(destinationId)
      try {
        await writeBusyWindow(this.#deps.db, destinationId, window)
      } catch (err) {
        this.#deps.log.warn({ err }, 'Cannot store a busy window')
      }
    }
    this.#isWriting = false
  }
}

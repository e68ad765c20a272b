import {
  MAIL_READINGS_PER_ORGANISATION,
  MAIL_THREADS,
  MAIL_TURN_SECONDS,
} from '../../../../core/limits.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Authentication } from './mail-payload.ts'
import { MailTurns, type Turn } from './mail-turns.ts'
import {
  ReadingThread,
  type JobEnd,
  type MailFault,
  type ThreadJob,
  type ThreadSettings,
} from './reading-thread.ts'

/** A mail to be read, with what its sender said of it. */
export interface Unread {
  mail: Buffer
  mailFrom: string
  helo: string
  remoteIp: string
  /** The organisations of its sources. */
  organisations: readonly string[]
  /** The address that it comes from, to which its share belongs; undefined behind a relay. */
  sender: string | undefined
}

/**
 * `json`: the members that the event's body begins with. `isUncertain`: a name that its authentication needs could not be
 * looked up.
 */
export type ReadMail =
  | { kind: 'read'; json: Buffer; isUncertain: boolean }
  | { kind: MailFault | 'costly' | 'busy' | 'unavailable' }

/** A step of reading that waits for a thread. */
interface Step extends Turn {
  job: ThreadJob
  since: number
  end: (end: JobEnd | { kind: 'busy' }) => void
}

/** Times that a step is begun, if others end its thread. */
const TRIES = 5

/**
 * Reads mails in threads, so that none holds the loop of ingest, however it was made. Organisations and senders take turns by
 * the processor time that they have used; a mail that needs too much of it is refused, and costs no other mail more than
 * another try. The authentication of a mail comes first: it holds no thread while it waits for names.
 */
export class MailReader implements AsyncDisposable {
  readonly #threads: ReadingThread[]
  readonly #turns = new MailTurns<Step>(MAIL_THREADS)
  /** Mails that are not read yet, by organisation. */
  readonly #readings = new Map<string, number>()
  #count = 0
  #isClosed = false

  constructor(log: Logger, settings?: ThreadSettings) {
    const next = (): void => this.#next()
    this.#threads = Array.from(
      { length: MAIL_THREADS },
      () => new ReadingThread(log, next, settings),
    )
  }

  async read(unread: Unread): Promise<ReadMail> {
    const { organisations } = unread
    const isFull = organisations.some(
      (one) => (this.#readings.get(one) ?? 0) >= MAIL_READINGS_PER_ORGANISATION,
    )
    if (isFull) return { kind: 'busy' }
    for (const one of organisations) this.#add(one, 1)
    try {
      return await this.#read(unread)
    } finally {
      for (const one of organisations) this.#add(one, -1)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    for (const step of this.#turns.waiting) this.#giveUp(step)
    await Promise.all(this.#threads.map(async (thread) => await thread[Symbol.asyncDispose]()))
  }

  async #read(unread: Unread): Promise<ReadMail> {
    const checked = await this.#step(unread)
    if (checked.kind !== 'authenticated') return unreadOf(checked)
    const read = await this.#step(unread, checked.authentication)
    if (read.kind !== 'read') return unreadOf(read)
    const { json, isUncertain } = read
    return {
      kind: 'read',
      json: Buffer.from(json.buffer, json.byteOffset, json.byteLength),
      isUncertain,
    }
  }

  async #step(
    { mail, mailFrom, helo, remoteIp, organisations, sender }: Unread,
    authentication?: Authentication,
  ): Promise<JobEnd | { kind: 'busy' }> {
    for (let tries = 0; tries < TRIES && !this.#isClosed; tries++) {
      const id = ++this.#count
      const job = { id, mail, mailFrom, helo, remoteIp, ...(authentication && { authentication }) }
      const turn = { organisations, sender, bytes: mail.length, since: performance.now() }
      const ended = await new Promise<JobEnd | { kind: 'busy' }>((end) => {
        this.#turns.add({ job, ...turn, end })
        this.#next()
      })
      if (ended.kind !== 'lost') return ended
    }
    return { kind: 'lost' }
  }

  #next(): void {
    const now = performance.now()
    for (const step of this.#turns.waiting) {
      if (now - step.since > MAIL_TURN_SECONDS * 1_000) this.#giveUp(step)
    }
    for (const thread of this.#threads) {
      if (thread.isBusy || this.#isClosed) continue
      const step = this.#turns.take(now)
      if (step === undefined) return
      void this.#run(thread, step)
    }
  }

  async #run(thread: ReadingThread, step: Step): Promise<void> {
    const free = (cpuMs: number): void => {
      this.#turns.end(step, cpuMs, performance.now())
      // The thread is free once this call has returned.
      queueMicrotask(() => this.#next())
    }
    step.end(await thread.run(step.job, free))
  }

  #giveUp(step: Step): void {
    this.#turns.remove(step)
    step.end({ kind: 'busy' })
  }

  #add(organisation: string, change: number): void {
    const count = (this.#readings.get(organisation) ?? 0) + change
    if (count === 0) this.#readings.delete(organisation)
    else this.#readings.set(organisation, count)
  }
}

function unreadOf({ kind }: JobEnd | { kind: 'busy' }): ReadMail {
  const isNone = kind === 'authenticated' || kind === 'read' || kind === 'lost'
  return isNone ? { kind: 'unavailable' } : { kind }
}

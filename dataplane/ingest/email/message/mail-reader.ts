import { Worker } from 'node:worker_threads'

import { MAIL_READ_SECONDS, MAIL_READING_BYTES_MAX } from '../../../../core/limits.ts'
import type { Logger } from '../../../../core/log.ts'
import type { PartsFault } from '../mime/parts.ts'
import type { HeadFault } from './head.ts'

/** A mail to be read, with what its sender said of it. */
export interface Unread {
  mail: Buffer
  mailFrom: string
  helo: string
  remoteIp: string
}

/**
 * `json`: the members that the event's body begins with. `isUncertain`: a name that its authentication needs could not be
 * looked up.
 */
export type ReadMail =
  | { kind: 'read'; json: Buffer; isUncertain: boolean }
  | { kind: MailFault | 'unavailable' }

/** Why a mail is refused by what it holds. */
type MailFault = HeadFault | PartsFault | 'manyAttachments' | 'tooLarge'

/** A mail on its way to the thread: bytes arrive there without their class. */
export type ThreadJob = Omit<Unread, 'mail'> & { id: number; mail: Uint8Array }

/** The answer of the thread. */
export interface ReadAnswer {
  id: number
  json?: Uint8Array<ArrayBuffer>
  isUncertain?: boolean
  fault?: MailFault
}

interface Job extends Unread {
  id: number
  resolve: (read: ReadMail) => void
}

const THREAD = new URL('mail-thread.ts', import.meta.url)
const HEAP_MB = 256

/**
 * Reads mails in a thread of its own, so that none holds the loop of ingest, however it was made. A thread that does not
 * answer in time, or runs out of memory, is replaced; the mails that it had are answered "try again".
 */
export class MailReader implements AsyncDisposable {
  readonly #log: Logger
  readonly #waiting: Job[] = []
  readonly #underway = new Map<number, { job: Job; timer: NodeJS.Timeout }>()
  #thread: Worker | undefined
  #bytes = 0
  #count = 0
  #isClosed = false

  constructor(log: Logger) {
    this.#log = log
  }

  read(unread: Unread): Promise<ReadMail> {
    return new Promise((resolve) => {
      if (this.#isClosed) return resolve({ kind: 'unavailable' })
      this.#waiting.push({ ...unread, id: ++this.#count, resolve })
      this.#next()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const thread = this.#thread
    this.#lose(thread)
    for (const { resolve } of this.#waiting.splice(0)) resolve({ kind: 'unavailable' })
    await thread?.terminate()
  }

  /** A mail is always read, alone if it is large. */
  #next(): void {
    for (;;) {
      const [job] = this.#waiting
      const isFull =
        this.#bytes > 0 && this.#bytes + (job?.mail.length ?? 0) > MAIL_READING_BYTES_MAX
      if (job === undefined || isFull) return
      this.#waiting.shift()
      this.#send(job)
    }
  }

  #send(job: Job): void {
    const { id, mail, mailFrom, helo, remoteIp } = job
    this.#thread ??= this.#start()
    const thread = this.#thread
    const giveUp = (): void => {
      this.#log.warn({ sizeBytes: mail.length }, 'A mail was not read in time')
      this.#lose(thread)
    }
    const timer = setTimeout(giveUp, MAIL_READ_SECONDS * 1_000)
    this.#underway.set(id, { job, timer })
    this.#bytes += mail.length
    thread.postMessage({ id, mail, mailFrom, helo, remoteIp }, [])
  }

  #start(): Worker {
    const thread = new Worker(THREAD, {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    thread.on('message', (answer: ReadAnswer) => this.#settle(answer))
    thread.on('error', (err) => {
      this.#log.warn({ err }, 'The thread that reads mails failed')
      this.#lose(thread)
    })
    thread.on('exit', () => this.#lose(thread))
    thread.unref()
    return thread
  }

  #settle({ id, json, isUncertain = false, fault }: ReadAnswer): void {
    const job = this.#take(id)
    if (json === undefined) job?.resolve({ kind: fault ?? 'unavailable' })
    else {
      const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength)
      job?.resolve({ kind: 'read', json: bytes, isUncertain })
    }
    this.#next()
  }

  #lose(thread: Worker | undefined): void {
    if (thread === undefined || thread !== this.#thread) return
    this.#thread = undefined
    void thread.terminate()
    for (const id of this.#underway.keys()) this.#take(id)?.resolve({ kind: 'unavailable' })
    if (!this.#isClosed) this.#next()
  }

  #take(id: number): Job | undefined {
    const found = this.#underway.get(id)
    if (found === undefined) return undefined
    clearTimeout(found.timer)
    this.#underway.delete(id)
    this.#bytes -= found.job.mail.length
    return found.job
  }
}

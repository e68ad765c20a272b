import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

import { MAIL_READ_SECONDS } from '../../../../core/limits.ts'
import type { Logger } from '../../../../core/log.ts'
import type { PartsFault } from '../mime/parts.ts'
import type { HeadFault } from './head.ts'
import type { Authentication } from './mail-payload.ts'

/** A step of reading a mail: its authentication, or its parts with the result of that. Bytes arrive without their class. */
export interface ThreadJob {
  id: number
  mail: Uint8Array
  mailFrom: string
  helo: string
  remoteIp: string
  authentication?: Authentication
}

/** A step that is done, or why there is no next one. `idle`: it needs no processor any more, and waits for names. */
export type StepAnswer =
  | { kind: 'idle' }
  | { kind: 'authenticated'; authentication: Authentication }
  | { kind: 'read'; json: Uint8Array<ArrayBuffer>; isUncertain: boolean }
  | { kind: MailFault }

/** Why a mail is refused by what it holds. */
export type MailFault = HeadFault | PartsFault | 'manyAttachments' | 'tooLarge'

/** `cpuMs`: processor time since the job began. */
export type ThreadAnswer = StepAnswer & { id: number; cpuMs: number }

/** How a job ended. `costly`: it took too much processor time. `lost`: it was in a thread that another job ended. */
export type JobEnd = Exclude<StepAnswer, { kind: 'idle' }> | { kind: 'costly' | 'lost' }

interface Job {
  job: ThreadJob
  /** Aborted when the thread can have another job. */
  turn: AbortController
  free: (cpuMs: number) => void
  end: (end: JobEnd) => void
}

export interface ThreadSettings {
  program: URL
  /** Processor time of a job at most. */
  cpuMs: number
}

const SETTINGS = {
  program: new URL('mail-thread.ts', import.meta.url),
  cpuMs: MAIL_READ_SECONDS * 1_000,
}
const HEAP_MB = 256

/** How often the processor time of a job is looked at; most have ended before that. */
const LOOK_MS = 250

const RESTART_MS = 1_000

/** Looks at a job that a busy machine hardly runs. */
const LOOKS_MAX = 120

/**
 * A thread that reads mails, one at a time. A job that needs more processor time than `MAIL_READ_SECONDS`, or all of its
 * memory, ends the thread: that job is refused, the jobs that wait for names in it are lost, and another thread starts.
 */
export class ReadingThread implements AsyncDisposable {
  readonly #log: Logger
  readonly #settings: ThreadSettings
  readonly #started: () => void
  readonly #jobs = new Map<number, Job>()
  #thread: Worker | undefined
  /** The thread has loaded what it needs. */
  #isReady = false
  #isClosed = false
  #running: Job | undefined

  /** `started` is called when it takes jobs, the first time and again. */
  constructor(log: Logger, started: () => void, settings: ThreadSettings = SETTINGS) {
    this.#log = log
    this.#started = started
    this.#settings = settings
    this.#restart()
  }

  /** It takes no job now: it has one, or it starts. */
  get isBusy(): boolean {
    return !this.#isReady || this.#running !== undefined
  }

  /** `free` is called once, before or when the job ends. */
  async run(job: ThreadJob, free: (cpuMs: number) => void): Promise<JobEnd> {
    const thread = this.#thread
    assert(thread !== undefined && !this.isBusy, 'The thread takes no job now')
    return await new Promise((end) => {
      const running: Job = { job, turn: new AbortController(), free, end }
      this.#running = running
      this.#jobs.set(job.id, running)
      thread.postMessage(job, [])
      void this.#watch(thread, running)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const thread = this.#thread
    this.#lose(thread, 'lost')
    await thread?.terminate()
  }

  #restart(): void {
    if (!this.#isClosed) this.#thread = this.#start()
  }

  #start(): Worker {
    const thread = new Worker(this.#settings.program, {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    thread.on('message', (answer: ThreadAnswer | 'ready') => {
      if (answer !== 'ready') return this.#settle(thread, answer)
      this.#isReady = true
      this.#started()
    })
    thread.on('error', (err) => {
      this.#log.warn({ err }, 'The thread that reads mails failed')
      this.#lose(thread, 'costly')
    })
    thread.on('exit', () => this.#lose(thread, 'lost'))
    thread.unref()
    return thread
  }

  /** Ends the thread once its job has used its time, by the clock of the processor: a busy machine is no fault of the mail. */
  async #watch(thread: Worker, { job, turn: { signal } }: Job): Promise<void> {
    const isOver = (): boolean => signal.aborted
    let before: NodeJS.CpuUsage | undefined
    for (let looks = 0; looks < LOOKS_MAX && !isOver(); looks++) {
      await sleep(LOOK_MS, undefined, { ref: false, signal }).catch(() => undefined)
      if (isOver()) return
      const used = await thread.cpuUsage(before).catch(() => undefined)
      before ??= used
      if (looks > 0 && used !== undefined && msOf(used) >= this.#settings.cpuMs) break
    }
    if (isOver()) return
    this.#log.warn({ sizeBytes: job.mail.length }, 'A mail was not read in time')
    this.#lose(thread, 'costly')
  }

  #settle(thread: Worker, answer: ThreadAnswer): void {
    const found = this.#jobs.get(answer.id)
    if (thread !== this.#thread || found === undefined) return
    if (answer.kind !== 'idle') this.#jobs.delete(answer.id)
    this.#free(found, answer.cpuMs)
    if (answer.kind !== 'idle') found.end(answer)
  }

  #free(job: Job, cpuMs: number): void {
    if (this.#running !== job) return
    this.#running = undefined
    job.turn.abort()
    job.free(cpuMs)
  }

  /** `why`: what becomes of the job that runs. */
  #lose(thread: Worker | undefined, why: 'costly' | 'lost'): void {
    if (thread === undefined || thread !== this.#thread) return
    this.#thread = undefined
    void thread.terminate()
    const running = this.#running
    const all = [...this.#jobs.values()]
    this.#jobs.clear()
    // The next mail need not wait for its start. A thread that cannot start is tried again later.
    const restMs = this.#isReady ? 0 : RESTART_MS
    this.#isReady = false
    setTimeout(() => this.#restart(), restMs).unref()
    for (const job of all) {
      this.#free(job, this.#settings.cpuMs)
      job.end({ kind: job === running ? why : 'lost' })
    }
  }
}

function msOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000
}

import { setTimeout as sleep } from 'node:timers/promises'

import {
  readConfig,
  readOperatorConfig,
  SettingsError,
  type Config,
  type OperatorConfig,
  type OwnPort,
} from './config.ts'
import type { Logger } from './log.ts'
import type { Environment } from './settings/setting-files.ts'
import { misspeltSettings } from './settings/setting-names.ts'
import { within } from './within.ts'

const AGAIN_MS = 500
const LINE_MS = 10_000
/** A service that has not answered for so long is named; its time-out is seconds away. */
const SLOW_MS = 1_000

/** Probes come every few seconds; the answer to one must be there before the next. */
const CHECK_MS = 1_500

/** The settings of the role that this process is. Wrong ones end it with code 1 and a line for each fault. */
export function configOrEnd(env: Environment, ownPort?: OwnPort): Config {
  return readOrEnd(() => readConfig(env, ownPort))
}

/** The same for the operator, which has settings of its own. */
export function operatorConfigOrEnd(env: Environment): OperatorConfig {
  return readOrEnd(() => readOperatorConfig(env))
}

function readOrEnd<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

const WHY_NOT: Record<string, string> = {
  EADDRINUSE: 'is used by another program',
  EACCES: 'may not be used by this user',
  EADDRNOTAVAIL: 'cannot be listened on: its host is no address of this machine',
}

/** A port that cannot be had ends the process with code 1 and a line that names the setting. */
export async function listenOrEnd(name: string, listen: () => Promise<unknown>): Promise<void> {
  try {
    await listen()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (WHY_NOT[code] === undefined) throw error
    process.stderr.write(`Cannot start: ${name} ${WHY_NOT[code]} (${String(error)})\n`)
    process.exit(1)
  }
}

export function warnOfMisspelt(env: Environment, log: Logger): void {
  for (const line of misspeltSettings(env)) log.warn(line)
}

/** Why a service cannot be used, in words that name it. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
  /** Waiting does not help: a wrong password, a version that is too old. */
  readonly isLasting: boolean

  constructor(message: string, isLasting: boolean, options?: ErrorOptions) {
    super(message, options)
    this.isLasting = isLasting
  }
}

type Check = () => Promise<void> | void

/** Why a role is not ready, by the part that is not. */
export class NotReady extends Error {
  override readonly name = 'NotReady'
  readonly parts: Readonly<Record<string, string>>

  constructor(parts: Readonly<Record<string, string>>) {
    super(Object.values(parts).join('; '))
    this.parts = parts
  }
}

/** The answer of /readyz: first the reasons for waiting, later the results of the role's own checks. */
export class Readiness {
  readonly #waiting = new Map<string, string>()
  #checks: Readonly<Record<string, Check>> = {
    role: () => {
      throw new Error('Starting')
    },
  }

  readonly check = async (): Promise<void> => {
    if (this.#waiting.size > 0) throw new NotReady(Object.fromEntries(this.#waiting))
    const faults = await Promise.all(
      Object.entries(this.#checks).map(async ([part, check]) => await faultOf(part, check)),
    )
    const found = faults.filter((fault) => fault !== undefined)
    if (found.length > 0) throw new NotReady(Object.fromEntries(found))
  }

  /** `part` is whom it waits for. */
  waitsFor(part: string, reason: string): void {
    this.#waiting.set(part, reason)
  }

  has(part: string): void {
    this.#waiting.delete(part)
  }

  /** From now on it is ready while no check of a part throws. */
  is(checks: Readonly<Record<string, Check>>): void {
    this.#checks = checks
  }
}

async function faultOf(
  part: string,
  check: Check,
): Promise<readonly [part: string, reason: string] | undefined> {
  try {
    const checked = Promise.resolve(check()).then(() => true)
    const isDone = await within(CHECK_MS, checked, () => false)
    return isDone ? undefined : [part, `${part} does not answer`]
  } catch (error) {
    return [part, error instanceof Error ? error.message : String(error)]
  }
}

export interface Patience {
  log: Logger
  readiness: Readiness
  stop: AbortSignal
}

/**
 * The answer of `look`, tried until it gives one: a role must not end because a service it needs restarts or is not there
 * yet. A line at once and every ten seconds, and /readyz, say why it waits. A role that is told to stop meanwhile ends:
 * nothing of it has begun.
 */
export async function whenUsable<T>(
  service: string,
  look: () => Promise<T>,
  { log, readiness, stop }: Patience,
): Promise<T> {
  const line = seldom((reason) => log.warn({ service, reason }, 'Waiting for a service'))
  let hasWaited = false
  const say = (reason: string): void => {
    hasWaited = true
    readiness.waitsFor(service, reason)
    line(reason)
  }
  for (;;) {
    const slow = setTimeout(say, SLOW_MS, `${service} has not answered for a second`)
    try {
      const answer = await look()
      readiness.has(service)
      if (hasWaited) log.info({ service }, 'The service is available')
      return answer
    } catch (error) {
      if (!(error instanceof Unusable)) throw error
      say(error.message)
    } finally {
      clearTimeout(slow)
    }
    await sleep(AGAIN_MS, undefined, { signal: stop }).catch(() => {})
    if (stop.aborted) process.exit(0)
  }
}

/** Says the first at once, then one every ten seconds. */
function seldom(say: (reason: string) => void): (reason: string) => void {
  let saidAt = Number.NEGATIVE_INFINITY
  return (reason) => {
    if (performance.now() - saidAt < LINE_MS) return
    saidAt = performance.now()
    say(reason)
  }
}

interface ShortPatience {
  withinMs: number
  stop?: AbortSignal
  /** Gets the reason for waiting, at once and every ten seconds. */
  say?: (reason: string) => void
}

/** The same for `withinMs`, for a program that somebody waits for. Throws what is wrong: at once when that lasts. */
export async function usableWithin<T>(
  look: () => Promise<T>,
  { withinMs, stop, say }: ShortPatience,
): Promise<T> {
  const deadline = performance.now() + withinMs
  const line = say && seldom(say)
  for (;;) {
    try {
      return await look()
    } catch (error) {
      const isOver = performance.now() > deadline
      if (!(error instanceof Unusable) || error.isLasting || isOver) throw error
      line?.(error.message)
    }
    await sleep(AGAIN_MS, undefined, { signal: stop })
  }
}

import { setTimeout as sleep } from 'node:timers/promises'

import { DESTINATION_CONCURRENCY_DEFAULT } from '../../core/limits.ts'
import { openConnector, type Agent } from './connector.ts'
import { planFaults, type Fault } from './fault-plan.ts'
import { numbered, startLoad, type Load, type LoadOptions, type Sent } from './load.ts'
import { PARTS, type Relay } from './relay.ts'
import { missing, openRoute, stored, unsettled, type Route } from './route.ts'
import { Striker } from './striker.ts'
import { accountOf, isAccepted, type Account } from './tally.ts'
import { until } from './until.ts'

/** Leases, sweeps, and a busy machine that has a backlog to send. */
const SETTLED_MS = 180_000
const LOOK_MS = 500
const BACK_MS = 60_000
/** Senders first send what they held back while ingest was away, at the speed of the machine. */
const ACCEPTS_MS = 120_000
/** Every tenth request of the keyed source repeats the event of four seconds before. */
const REPEAT_EVERY = 10
const REPEAT_SECONDS = 4
/** Deliveries that a fault leaves unsent are retried soon, not after the five minutes of the default policy. */
const PATIENT = { retryPolicy: { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 50 } }
const SOURCES = 3
const ROUTE = { destination: PATIENT, keepsBodies: false }
const KEYED = { idempotencyKeys: ['header.x-delivery'] }
/** Answers that were not recorded when their worker or PostgreSQL went: two slow commits of traffic. */
const UNRECORDED_MS = 50
/** A process that runs again connects, takes over what was left, and sends what waited. */
const COMES_BACK_MS = 10_000

export interface ChaosOptions {
  seed: number
  durationMs: number
  /** Rate of all sources together. */
  perSecond: number
  gapMs: { min: number; max: number }
  /** Kinds of faults; every kind when absent. */
  kinds?: readonly Fault['kind'][]
  /** Begins what goes on beside the faults, and is ended with them. */
  beside?: () => Promise<AsyncDisposable>
  /** Hears of each fault as it is done. */
  print?: (line: string) => void
}

interface ChaosAccount extends Account {
  /** Events in PostgreSQL. */
  stored: number
  /** Deliveries that are not `succeeded`, or events not stored whole; counted up to five a source. */
  unsettled: number
  /** The longest way from its 200 to its destination, without the time in which a part was down or came back. */
  lateMs: number
}

/** A part was away. On the monotonic clock. */
interface Down {
  fromMs: number
  toMs: number
}

export interface Chaos {
  /** By the source's name. */
  accounts: Record<string, ChaosAccount>
  struck: readonly Fault[]
  /** More duplicates than this are a fault of the relay, not of what was done to it. */
  duplicatesMax: number
}

interface Running {
  name: string
  route: Route
  load: Load
}

/**
 * Loads a source with idempotency keys, one without, and one whose destination is private, while parts of the relay and an
 * agent are killed, frozen and restarted, waits until everything that waits is delivered, and counts.
 */
export async function runChaos(relay: Relay, options: ChaosOptions): Promise<Chaos> {
  await using stack = new AsyncDisposableStack()
  const perSecond = options.perSecond / SOURCES
  const plain = stack.use(await openRoute(relay, 'without keys', ROUTE))
  const keyed = stack.use(await openRoute(relay, 'with keys', { ...ROUTE, source: KEYED }))
  const connector = stack.use(await openConnector(relay, 'private'))
  const destination = { ...PATIENT, ...connector.destination }
  const hidden = stack.use(await openRoute(relay, 'private', { ...ROUTE, destination }))
  const agents = ['one', 'two'].map((one) => connector.startAgent(one, [hidden.destination.url]))
  await connector.online(agents.length)
  const start = (name: string, route: Route, more: Partial<LoadOptions>): Running => {
    const load = stack.use(startLoad({ ...route, perSecond, ...more }))
    return { name, route, load }
  }
  const running = [
    start('without keys', plain, {}),
    start('with keys', keyed, { requestOf: keyedRequest, eventOf: repeating(perSecond) }),
    start('private', hidden, {}),
  ]
  const beside = await options.beside?.()
  if (beside !== undefined) stack.use(beside)
  const { struck, downs } = await strikeAll(relay, agents[0], options)
  await beside?.[Symbol.asyncDispose]()
  await Promise.all(running.map(({ load }) => load.accepted(ACCEPTS_MS)))
  options.print?.('All parts run: waiting until everything is delivered')
  const accounts: Record<string, ChaosAccount> = {}
  const sent = await Promise.all(running.map(({ load }) => load.stop()))
  const deadline = performance.now() + SETTLED_MS
  for (const [index, { name, route }] of running.entries()) {
    const account = await accountFor(relay, { route, sent: sent[index] ?? [] }, deadline)
    accounts[name] = { ...account, lateMs: lateMs(route, sent[index] ?? [], downs) }
  }
  return { accounts, struck, duplicatesMax: duplicatesMax(struck, options.perSecond) }
}

function keyedRequest(number: number): ReturnType<typeof numbered> {
  const request = numbered(number)
  return { ...request, headers: { ...request.headers, 'x-delivery': String(number) } }
}

/** As a sender that tries again: also what it got no answer to. No repeated event is itself a repeat. */
function repeating(perSecond: number): (count: number) => number {
  const back = Math.ceil((perSecond * REPEAT_SECONDS) / REPEAT_EVERY) * REPEAT_EVERY + 1
  return (count) => (count % REPEAT_EVERY === 0 && count > back ? count - back : count)
}

/** Counts deliveries that arrived: the others are lost. */
function lateMs({ destination }: Route, sent: readonly Sent[], downs: readonly Down[]): number {
  const late = sent.filter(isAccepted).map(({ number, answeredAtMs }) => {
    const arrivedAtMs = destination.arrivals.get(number)?.[0]?.atMs ?? answeredAtMs
    const met = downs.filter(
      ({ fromMs, toMs }) => fromMs < arrivedAtMs && toMs + COMES_BACK_MS > answeredAtMs,
    )
    return arrivedAtMs - Math.max(answeredAtMs, ...met.map(({ toMs }) => toMs + COMES_BACK_MS))
  })
  return Math.round(late.reduce((most, ms) => Math.max(most, ms), 0))
}

/** Returns the faults that hit a part that ran, and when parts were down. Resolves when every part runs again. */
async function strikeAll(
  relay: Relay,
  agent: Agent | undefined,
  options: ChaosOptions,
): Promise<{ struck: Fault[]; downs: Down[] }> {
  const { durationMs, print } = options
  using striker = new Striker(relay, () => agent?.pid())
  const startedAt = performance.now()
  const passed = (): number => performance.now() - startedAt
  const reach = async (atMs: number): Promise<void> => {
    await sleep(Math.max(0, atMs - passed()))
  }
  const struck: Fault[] = []
  const downs: Down[] = []
  const watch = async ({ part, kind, forMs }: Fault, pid: number | undefined): Promise<void> => {
    const down = { fromMs: performance.now(), toMs: Infinity }
    downs.push(down)
    await sleep(forMs)
    const isBack = (): boolean => {
      const present = striker.pidOf(part)
      return present !== undefined && (kind === 'freeze' || present !== pid)
    }
    await until(`${part} runs again`, isBack, BACK_MS)
    down.toMs = performance.now()
  }
  const watching: Promise<void>[] = []
  for (const fault of planFaults(options)) {
    await reach(fault.atMs)
    const pid = striker.pidOf(fault.part)
    const isHit = striker.strike(fault)
    if (isHit) struck.push(fault)
    if (isHit) watching.push(watch(fault, pid))
    print?.(
      `${seconds(passed())} ${textOf(fault)}${isHit ? '' : ': not now, it is down or frozen'}`,
    )
  }
  await reach(durationMs)
  striker.wakeAll()
  const allRun = (): boolean => PARTS.every((part) => striker.pidOf(part) !== undefined)
  await until('every part runs', allRun, BACK_MS)
  await Promise.all(watching)
  return { struck, downs }
}

function textOf({ part, kind, forMs }: Fault): string {
  return kind === 'freeze' ? `freeze ${part} for ${seconds(forMs)}` : `${kind} ${part}`
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

async function accountFor(
  relay: Relay,
  { route, sent }: { route: Route; sent: readonly Sent[] },
  deadline: number,
): Promise<Omit<ChaosAccount, 'lateMs'>> {
  const { arrivals } = route.destination
  const accepted = new Set(sent.filter(isAccepted).map(({ number }) => number))
  const isSettled = async (): Promise<boolean> =>
    accepted.isSubsetOf(arrivals) && (await unsettled(relay, route)).length === 0
  while (!(await isSettled().catch(() => false)) && performance.now() < deadline) {
    await sleep(LOOK_MS)
  }
  const account = accountOf(sent, arrivals)
  const gone = await missing(relay, sent)
  return {
    ...account,
    lost: accepted.difference(arrivals).union(new Set(gone)).size,
    stored: await stored(relay, route),
    unsettled: (await unsettled(relay, route)).length,
  }
}

/**
 * A fault to the worker, to what it sends through, or to a server it writes to, can let what is under way be sent again: each
 * destination's concurrency, and what was answered and not recorded. Ingest, the API and the housekeeper send nothing.
 */
function duplicatesMax(struck: readonly Fault[], perSecond: number): number {
  const each =
    SOURCES * DESTINATION_CONCURRENCY_DEFAULT + Math.ceil((perSecond * UNRECORDED_MS) / 1_000)
  const parts = new Set(['worker', 'gateway', 'agent', 'postgres', 'nats'])
  return struck.filter(({ part }) => parts.has(part)).length * each
}

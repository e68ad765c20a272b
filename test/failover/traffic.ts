import { openConnector } from '../faults/connector.ts'
import type { Arrival } from '../faults/destination.ts'
import { startLoad, type Load, type Sent } from '../faults/load.ts'
import { missing, openRoute, type Route } from '../faults/route.ts'
import { accountOf, isAccepted } from '../faults/tally.ts'
import { until } from '../faults/until.ts'
import type { Installation } from './installation.ts'

/** Requests that a destination takes at once: a worker that is killed repeats at most these. */
export const CONCURRENCY = { public: 30, paced: 6, private: 20 }
const PER_SECOND = { public: 50, paced: 10, private: 20 }
/** The rate of the paced destination. */
export const PACE = 20
const ANSWERS_MS = 200
/** A timer may be so much early. */
const TIMER_MS = 2
/** A delivery that a fault breaks off is tried again soon. */
const PATIENT = { retryPolicy: { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 50 } }
const AGENTS = ['one', 'two']
/** The requests of a load that wait for an answer: as many as a stand brings. */
const CONNECTIONS = 400
/** Deliveries that were left behind go out by the sweep, 20 to 25 s later. */
const SETTLED_MS = 60_000

type Kind = keyof typeof CONCURRENCY
const KINDS = ['public', 'paced', 'private'] as const

/** A source with its destination, for all scenarios. */
interface Lane {
  kind: Kind
  route: Route
}

/** A measure of a scenario. Times in milliseconds. */
export interface Measured {
  sent: number
  accepted: number
  /** Connections that closed without an answer, or none came in 10 s. */
  unanswered: number
  /** The longest time in which no request was answered with a 200. */
  without200Ms: number
  /** The slowest answer, whatever it was. */
  slowestMs: number
  /** For each destination, the longest time without an arrival. */
  stoodMs: Record<Kind, number>
  /** From sending an accepted request to its first arrival, at most. */
  arrivedMs: number
  lost: number
  duplicates: Record<Kind, number>
  /** Requests that a destination had under way at once, at most. */
  atOnce: Record<Kind, number>
  /** Arrivals at the paced destination within a second, at most. */
  inASecond: number
}

export interface Traffic extends AsyncDisposable {
  /** Webhooks to all destinations, until `measure`. */
  start(): Running
}

interface Running extends AsyncDisposable {
  /** Resolves once each source got a 200, and each destination an event, of those sent after the call. */
  flows(withinMs: number): Promise<void>
  /** Stops sending, waits until what was accepted has arrived, and measures. */
  measure(): Promise<Measured>
}

/** Three sources: to a public destination, to a paced one, and to a private one through two agents. */
export async function openTraffic(installation: Installation): Promise<Traffic> {
  await using stack = new AsyncDisposableStack()
  const connector = stack.use(await openConnector(installation, 'private'))
  const lanes: Lane[] = []
  for (const kind of KINDS) {
    const destination = {
      ...PATIENT,
      maxConcurrency: CONCURRENCY[kind],
      ...(kind === 'paced' && { rateLimit: PACE }),
      ...(kind === 'private' && connector.destination),
    }
    const options = { destination, delayMs: ANSWERS_MS, keepsBodies: false }
    lanes.push({ kind, route: stack.use(await openRoute(installation, kind, options)) })
  }
  const hidden = lanes.find(({ kind }) => kind === 'private')?.route.destination.url ?? ''
  for (const name of AGENTS) connector.startAgent(name, [hidden])
  await connector.online(AGENTS.length)
  const owned = stack.move()
  let count = 0
  return {
    start() {
      const from = count
      const loads = lanes.map(({ kind, route }) => {
        const eventOf = (nth: number): number => from + nth
        const load = startLoad({
          ...route,
          perSecond: PER_SECOND[kind],
          connections: CONNECTIONS,
          eventOf,
        })
        return { kind, route, load }
      })
      return runningOf(installation, loads, (sent) => (count = Math.max(count, from + sent)))
    },
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  }
}

interface LoadedLane extends Lane {
  load: Load
}

function runningOf(
  installation: Installation,
  lanes: readonly LoadedLane[],
  ended: (sent: number) => void,
): Running {
  return {
    async flows(withinMs) {
      const before = lanes.map(({ route }) => route.destination.arrivals.size)
      const since = performance.now()
      await Promise.all(lanes.map(async ({ load }) => await load.accepted(withinMs)))
      const arrive = (): boolean =>
        lanes.every(({ route }, at) => route.destination.arrivals.size > (before[at] ?? 0))
      await until('deliveries go on', arrive, withinMs - (performance.now() - since))
    },
    async measure() {
      const all: { lane: Lane; sent: readonly Sent[] }[] = []
      for (const lane of lanes) all.push({ lane, sent: await lane.load.stop() })
      const stoppedAt = performance.now()
      for (const { lane, sent } of all) {
        const { arrivals } = lane.route.destination
        const accepted = sent.filter(isAccepted)
        const isDelivered = (): boolean => accepted.every(({ number }) => arrivals.has(number))
        await until(`all of ${lane.kind} arrive`, isDelivered, SETTLED_MS).catch(() => {})
      }
      return await measured(installation, all, stoppedAt)
    },
    [Symbol.asyncDispose]: async () => {
      const sent = await Promise.all(lanes.map(async ({ load }) => await load.stop()))
      ended(Math.max(...sent.map(({ length }) => length)))
    },
  }
}

async function measured(
  installation: Installation,
  all: readonly { lane: Lane; sent: readonly Sent[] }[],
  stoppedAt: number,
): Promise<Measured> {
  const every = all.flatMap(({ sent }) => sent)
  const startedAt = Math.min(...every.map(({ sentAtMs }) => sentAtMs))
  const accounts = all.map(({ lane, sent }) => {
    const arrivals = arrivalsOf(lane, sent)
    return { kind: lane.kind, arrivals, account: accountOf(sent, arrivals) }
  })
  const each = <T>(of: (one: (typeof accounts)[number]) => T): Record<Kind, T> => {
    const [first, second, third] = accounts.map((one) => of(one))
    if (first === undefined || second === undefined || third === undefined) throw new Error('Three')
    return { public: first, paced: second, private: third }
  }
  const timesOf = (one: (typeof accounts)[number]): number[] =>
    [...one.arrivals.values()].flatMap((same) => same.map(({ atMs }) => atMs))
  const atOnce = each((one) => mostWithin(timesOf(one), ANSWERS_MS - TIMER_MS))
  const inASecond = each((one) => mostWithin(timesOf(one), 1_000)).paced
  const gone = new Set(await missing(installation, every))
  return {
    sent: every.length,
    accepted: every.filter(isAccepted).length,
    unanswered: every.filter(({ answer }) => answer.kind === 'unanswered').length,
    without200Ms: longestGap(
      every.filter(isAccepted).map(({ answeredAtMs }) => answeredAtMs),
      startedAt,
      stoppedAt,
    ),
    slowestMs: Math.round(Math.max(...every.map((one) => one.answeredAtMs - one.sentAtMs))),
    stoodMs: each((one) => longestGap(timesOf(one), startedAt, stoppedAt)),
    arrivedMs: Math.max(...accounts.map(({ account }) => account.longestMs)),
    lost: accounts.reduce((sum, { account }) => sum + account.lost, 0) + gone.size,
    duplicates: each(({ account }) => account.duplicated),
    atOnce,
    inASecond,
  }
}

/** The arrivals of these requests. */
function arrivalsOf({ route }: Lane, sent: readonly Sent[]): Map<number, readonly Arrival[]> {
  const { arrivals } = route.destination
  return new Map(
    sent.flatMap(({ number }): [number, readonly Arrival[]][] => {
      const own = arrivals.get(number)
      return own === undefined ? [] : [[number, own]]
    }),
  )
}

/** Between `from` and `to`, the longest time in which nothing of the list was. Milliseconds. */
function longestGap(times: readonly number[], from: number, to: number): number {
  const within = times.filter((time) => time > from && time < to)
  const ordered = [from, ...within, to].toSorted((one, other) => one - other)
  const gaps = ordered.slice(1).map((time, at) => time - (ordered[at] ?? 0))
  return Math.round(Math.max(...gaps))
}

/** The most of these times within any span of so many milliseconds. */
function mostWithin(times: readonly number[], spanMs: number): number {
  const ordered = times.toSorted((one, other) => one - other)
  let from = 0
  return ordered.reduce((most, time, at) => {
    while ((ordered[from] ?? time) <= time - spanMs) from++
    return Math.max(most, at - from + 1)
  }, 0)
}

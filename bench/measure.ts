import { setTimeout as sleep } from 'node:timers/promises'

import { paced, unpaced, type Pace } from './pace.ts'
import { forEachPart, readUsage, type Part } from './processes.ts'
import { Journal, openSink, Senders, type Target } from './traffic.ts'

/** The figures of a run of traffic. */
export interface Run {
  seconds: number
  accepted: number
  refused: number
  delivered: number
  duplicates: number
  /** Accepted, and not delivered as often as it must be when the run ended. */
  lost: number
  /** Milliseconds from the moment a request was due to its answer, sorted. */
  toAnswer: number[]
  /** From the answer, and from the moment it was due, to the arrival of its last delivery, sorted. */
  answerToArrival: number[]
  toArrival: number[]
  cpuUsPerEvent: Record<Part, number>
  rssMb: Record<Part, number>
}

export interface Traffic {
  supervisorPid: number
  /** Roles that run beside the supervisor's. */
  besides?: readonly number[]
  target: Target
  fanOut: number
  connections: number
  seconds: number
  /** Events a second; undefined sends as fast as deliveries arrive, with `window` events under way. */
  rate?: number
  window?: number
  /** How long the last deliveries may take. */
  settleMs?: number
}

const SETTLE_MS = 15_000

/** The sink must be open before the destination is made: its address is part of the configuration. */
export type Sink = Awaited<ReturnType<typeof openTrafficSink>>

/** `count` addresses, told apart by their ports, whose arrivals all listeners hear. */
export async function openTrafficSink(count = 1, answerAfterMs = 0) {
  await using stack = new AsyncDisposableStack()
  const listeners = new Set<(number: number) => void>()
  const hear = (number: number): void => {
    for (const listener of listeners) listener(number)
  }
  const urls: string[] = []
  for (let n = 0; n < count; n++) urls.push(stack.use(await openSink(hear, answerAfterMs)).url)
  const owned = stack.move()
  return { urls, listeners, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

export async function runTraffic(sink: Sink, traffic: Traffic): Promise<Run> {
  const journal = new Journal()
  const senders = new Senders(traffic.target)
  await senders.open(traffic.connections)
  const pace = traffic.rate === undefined ? unpaced(traffic.window) : paced(traffic.rate)
  const arrive = (number: number): void => noteArrival(journal, number, traffic, pace)
  sink.listeners.add(arrive)
  const before = readUsage(traffic.supervisorPid, traffic.besides)
  const startedAt = performance.now()
  const send = (dueAt: number): void => {
    const number = journal.due.length
    journal.due.push(dueAt)
    senders.send(number, (isAccepted) => {
      journal.answered[number] = performance.now()
      if (isAccepted) {
        journal.accepted++
        return
      }
      journal.refused++
      journal.notAccepted.add(number)
      pace.done()
    })
  }
  await pace.run(send, startedAt + traffic.seconds * 1_000)
  const deadline = performance.now() + (traffic.settleMs ?? SETTLE_MS)
  const wanted = (): number => journal.accepted * traffic.fanOut
  const isSettled = (): boolean =>
    journal.accepted + journal.refused === journal.due.length &&
    journal.arrived - journal.duplicates >= wanted() &&
    // An event that was stored and not answered may have arrived instead of one that was accepted.
    (journal.refused === 0 || countLost(journal, traffic.fanOut) === 0)
  while (!isSettled() && performance.now() < deadline) {
    await sleep(5)
  }
  const endedAt = performance.now()
  await sleep(50)
  const after = readUsage(traffic.supervisorPid, traffic.besides)
  sink.listeners.delete(arrive)
  senders.close()
  return summarise(journal, traffic.fanOut, (endedAt - startedAt) / 1_000, { before, after })
}

function countLost({ due, answered, notAccepted, arrivals }: Journal, fanOut: number): number {
  return due.reduce((lost, _at, number) => {
    const isAccepted = answered[number] !== undefined && !notAccepted.has(number)
    return isAccepted && (arrivals[number] ?? 0) < fanOut ? lost + 1 : lost
  }, 0)
}

function noteArrival(journal: Journal, number: number, { fanOut }: Traffic, pace: Pace): void {
  journal.arrived++
  journal.arrivals[number] = (journal.arrivals[number] ?? 0) + 1
  const count = journal.arrivals[number]
  if (count > fanOut) journal.duplicates++
  if (count !== fanOut) return
  journal.delivered[number] = performance.now()
  pace.done()
}

function summarise(
  journal: Journal,
  fanOut: number,
  seconds: number,
  usage: { before: ReturnType<typeof readUsage>; after: ReturnType<typeof readUsage> },
): Run {
  const { due, answered, delivered } = journal
  const events = Math.max(1, journal.accepted)
  return {
    seconds,
    accepted: journal.accepted,
    refused: journal.refused,
    delivered: journal.arrived - journal.duplicates,
    duplicates: journal.duplicates,
    lost: countLost(journal, fanOut),
    toAnswer: spans(due, answered),
    answerToArrival: spans(answered, delivered),
    toArrival: spans(due, delivered),
    cpuUsPerEvent: forEachPart(
      (part) => (usage.after[part].cpuUs - usage.before[part].cpuUs) / events,
    ),
    rssMb: forEachPart((part) => usage.after[part].rssBytes / 1_048_576),
  }
}

/** From one moment to another of each event that has both, sorted. */
function spans(from: readonly number[], to: readonly number[]): number[] {
  return to
    .flatMap((at, number) => (from[number] === undefined ? [] : [at - from[number]]))
    .toSorted((a, b) => a - b)
}

/** The least of the sorted values that the given share of them does not exceed: by nearest rank, of 100 the 99th. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}

import type { Schemas } from '../api/client.ts'

export type Timeline = Schemas['Timeline']
export type Attempt = Schemas['Attempt']
type DeliveryWithAttempts = Schemas['DeliveryWithAttempts']

/** More attempts than these fold into groups. */
const UNFOLDED = 12

/** A run of attempts that had the same end. */
export interface Mark {
  attempts: readonly Attempt[]
  outcome: Attempt['outcome']
}

export interface Lane {
  connectionId: string | null
  destinationId: string | null
  outcome: Schemas['TimelineConnection']['outcome']
  failedPart: string | undefined
  delivery: DeliveryWithAttempts | undefined
  marks: readonly Mark[]
}

/** A lane for each delivery, and one for each connection that got none. */
export function lanesOf({ connections, deliveries }: Timeline): Lane[] {
  const sent = deliveries.map((delivery) => ({
    connectionId: delivery.connectionId,
    destinationId: delivery.destinationId,
    outcome: 'delivered_to' as const,
    failedPart: undefined,
    delivery,
    marks: marksOf(delivery.attempts),
  }))
  const reached = new Set(deliveries.map(({ connectionId }) => connectionId))
  const without = connections
    .filter(({ connectionId }) => !reached.has(connectionId))
    .map(({ connectionId, outcome, failedPart }) => ({
      connectionId,
      destinationId: null,
      outcome,
      failedPart,
      delivery: undefined,
      marks: [],
    }))
  return [...sent, ...without]
}

function marksOf(attempts: readonly Attempt[]): Mark[] {
  const each = attempts.map((attempt) => ({ attempts: [attempt], outcome: attempt.outcome }))
  if (attempts.length <= UNFOLDED) return each
  const folded: { attempts: Attempt[]; outcome: Attempt['outcome'] }[] = []
  for (const attempt of attempts) {
    const last = folded.at(-1)
    const isSame =
      last?.outcome === attempt.outcome && last.attempts[0]?.errorCode === attempt.errorCode
    if (last !== undefined && isSame) last.attempts.push(attempt)
    else folded.push({ attempts: [attempt], outcome: attempt.outcome })
  }
  return folded
}

const FINAL = new Set<string>(['succeeded', 'failed', 'cancelled'])

export function isSettled({ deliveries }: Pick<Timeline, 'deliveries'>): boolean {
  return deliveries.every(({ status }) => FINAL.has(status))
}

/** The last moment that the picture must show, from receipt on. */
export function longestMs(
  { phases, deliveries }: Timeline,
  receivedAt: number,
  now: number,
): number {
  const ends = deliveries.flatMap(({ attempts, nextAttemptAt, completedAt }) => [
    ...attempts.map(({ startedAt, durationMs }) => Date.parse(startedAt) + durationMs),
    ...[nextAttemptAt, completedAt].flatMap((at) => (at === null ? [] : [Date.parse(at)])),
  ])
  const present = isSettled({ deliveries }) ? [] : [now]
  const stages = phases.map(({ at }) => Date.parse(at))
  return Math.max(...ends, ...present, ...stages, receivedAt + 10) - receivedAt
}

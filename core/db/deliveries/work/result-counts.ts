import { MINUTE_MS } from '../../../clock.ts'
import { bucketOf } from '../../../statistics/histogram.ts'
import {
  int2Array,
  int4Array,
  textArray,
  timeArray,
  uuidArray,
} from '../../connection/binary-arrays.ts'

/** The facts of a result for statistics. A result without source and connection is a test, which is not counted. */
interface CountedResult {
  projectId: string
  sourceId: string | null
  connectionId: string | null
  destinationId: string
  status: string
  /** Set when it was not throttled before. */
  throttledAtMs: number | null
  /** Set when it ended before: that was counted then. */
  completedAtMs: number | null
  attempt: {
    number: number
    startedAtMs: number
    durationMs: number
    responseStatus: number | null
  }
}

/** A way to count results in the statement that records them. It reads the CTEs `input`, `recorded` and `changed`. */
export interface ResultCounting {
  name: string
  /** How many parameters it takes, from $33 on. */
  parameters: number
  /** Types and names of those that are columns of `input`. */
  inputTypes: string
  inputNames: string
  /** The columns that `recorded` returns, the CTE that writes delta rows, and the final select. */
  recorded: string
  tallied: string
  select: string
  values(results: readonly CountedResult[]): Buffer[]
}

const COLUMNS = `at, project_id, source_id, destination_id, connection_id, succeeded, failed, throttled,
      attempts, retried, latencies`

/**
 * Counted before the statement runs, which costs it next to nothing. True only if every delivery takes its result;
 * where one does not (it was cancelled meanwhile), the statement divides by zero and leaves nothing behind.
 */
export const ASSUMED: ResultCounting = {
  name: 'assumed',
  parameters: 11,
  inputTypes: '',
  inputNames: '',
  recorded: '',
  tallied: `
    insert into delivery_delta (${COLUMNS})
    select at, project_id, source_id, destination_id, connection_id, succeeded, failed, throttled,
      attempts, retried, latencies::int2[]
    from unnest($33::timestamptz[], $34::uuid[], $35::uuid[], $36::uuid[], $37::uuid[], $38::int4[], $39::int4[],
      $40::int4[], $41::int4[], $42::int4[], $43::text[])
    as t (${COLUMNS})`,
  select: `1 / (count(*) filter (where is_first_throttle is not false) = cardinality($1::int2[]))::int from changed`,
  values: (results) => {
    const tallies = talliesOf(results)
    return [
      timeArray(tallies.map((tally) => tally.atMs)),
      uuidArray(tallies.map((tally) => tally.projectId)),
      uuidArray(tallies.map((tally) => tally.sourceId)),
      uuidArray(tallies.map((tally) => tally.destinationId)),
      uuidArray(tallies.map((tally) => tally.connectionId)),
      int4Array(tallies.map((tally) => tally.succeeded)),
      int4Array(tallies.map((tally) => tally.failed)),
      int4Array(tallies.map((tally) => tally.throttled)),
      int4Array(tallies.map((tally) => tally.attempts)),
      int4Array(tallies.map((tally) => tally.retried)),
      textArray(tallies.map((tally) => `{${tally.latencies.join(',')}}`)),
    ]
  },
}

/**
 * Counts what the statement did: attempts that were inserted, deliveries that were changed. "is true" keeps the look-up
 * a hashed one, where these connections know no hash joins.
 */
export const CHECKED: ResultCounting = {
  name: 'checked',
  parameters: 4,
  inputTypes: ', $33::uuid[], $34::uuid[], $35::timestamptz[], $36::int2[]',
  inputNames: ', source_id, connection_id, minute, latency',
  recorded: 'returning id',
  tallied: `
    insert into delivery_delta (${COLUMNS})
    select minute, project_id, source_id, destination_id, connection_id, sum(succeeded), sum(failed), sum(throttled),
      sum(attempts), sum(retried), array_agg(latency) filter (where latency is not null)
    from (
      select minute, project_id, source_id, destination_id, connection_id, 0 as succeeded, 0 as failed, 0 as throttled,
        1 as attempts, (number > 1)::int as retried, latency
      from input where (attempt_id in (select id from recorded)) is true
      union all
      select minute, project_id, source_id, destination_id, connection_id, (status = 'succeeded' and completed_at is null)::int,
        (status = 'failed' and completed_at is null)::int, (is_first_throttle is true)::int, 0, 0, null
      from changed where status in ('succeeded', 'failed') or is_first_throttle
    ) as facts
    where source_id is not null and connection_id is not null
    group by minute, project_id, source_id, destination_id, connection_id`,
  select: '1',
  values: (results) => [
    uuidArray(results.map((result) => result.sourceId)),
    uuidArray(results.map((result) => result.connectionId)),
    timeArray(results.map(minuteOf)),
    int2Array(results.map(latencyOf)),
  ],
}

interface Tally {
  atMs: number
  projectId: string
  sourceId: string
  destinationId: string
  connectionId: string
  succeeded: number
  failed: number
  throttled: number
  attempts: number
  retried: number
  latencies: number[]
}

/** Makes a tally for each minute, source, connection and destination. */
function talliesOf(results: readonly CountedResult[]): Tally[] {
  const tallies = new Map<string, Tally>()
  let last: Tally | undefined
  for (const result of results) {
    const { projectId, sourceId, destinationId, connectionId } = result
    if (sourceId === null || connectionId === null) continue
    const atMs = minuteOf(result)
    // Mostly the one before it: to put a key together and look for it costs more than all that is counted.
    if (last === undefined || !isOf(last, atMs, result)) {
      const key = `${atMs} ${sourceId} ${connectionId} ${destinationId}`
      const of = { atMs, projectId, sourceId, destinationId, connectionId }
      last = tallies.get(key) ?? newTally(of)
      tallies.set(key, last)
    }
    count(last, result)
  }
  return [...tallies.values()]
}

function isOf(tally: Tally, atMs: number, result: CountedResult): boolean {
  return (
    tally.atMs === atMs &&
    tally.destinationId === result.destinationId &&
    tally.connectionId === result.connectionId &&
    tally.sourceId === result.sourceId
  )
}

function newTally(
  of: Pick<Tally, 'atMs' | 'projectId' | 'sourceId' | 'destinationId' | 'connectionId'>,
): Tally {
  const counts = { succeeded: 0, failed: 0, throttled: 0, attempts: 0, retried: 0 }
  return { ...of, ...counts, latencies: [] }
}

function count(tally: Tally, result: CountedResult): void {
  tally.attempts++
  if (result.completedAtMs === null) {
    if (result.status === 'succeeded') tally.succeeded++
    if (result.status === 'failed') tally.failed++
  }
  if (result.throttledAtMs !== null) tally.throttled++
  if (result.attempt.number > 1) tally.retried++
  const latency = latencyOf(result)
  if (latency !== null) tally.latencies.push(latency)
}

/** An attempt, and what became of its delivery, count in the minute in which the attempt ended. */
function minuteOf({ attempt }: CountedResult): number {
  return Math.floor((attempt.startedAtMs + attempt.durationMs) / MINUTE_MS) * MINUTE_MS
}

/** An attempt without an answer has no latency: how long it took says what the time-out is. */
function latencyOf({ attempt }: CountedResult): number | null {
  return attempt.responseStatus === null ? null : bucketOf(attempt.durationMs)
}

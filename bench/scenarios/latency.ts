import { median, percentile, type Run } from '../measure.ts'
import { openRelay, WARM_UP } from '../relay.ts'
import { cpuOf, repeat, type Row } from '../table.ts'

const SECONDS = 10
const CONNECTIONS = 32
const FAST_RATE = 500

/** At fixed rates, from the moment at which each request was due. */
export async function latency(): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024 })
  await relay.run(WARM_UP)
  const at = (rate: number): Promise<Run[]> =>
    repeat(() => relay.run({ seconds: SECONDS, connections: CONNECTIONS, rate }))
  const slow = await at(50)
  const middle = await at(200)
  const fast = await at(FAST_RATE)
  const cores = median(fast.map((run) => (sum(run.cpuUsPerEvent) * FAST_RATE) / 1e6))
  return [
    { figure: '50/s: request to destination', must: 'p95 4.3 ms', ...spread(slow, 'toArrival') },
    { figure: '200/s: request to destination', must: 'p95 2.5 ms', ...spread(middle, 'toArrival') },
    { figure: '500/s: request to 200', must: 'p50 1 ms, p99 8 ms', ...spread(fast, 'toAnswer') },
    {
      figure: '500/s: 200 to destination',
      must: 'p50 0.6 ms, p99 5 ms',
      ...spread(fast, 'answerToArrival'),
    },
    {
      figure: 'CPU at 500/s, all parts',
      must: '0.8 core',
      measured: `${cores.toFixed(2)} core`,
      cpu: cpuOf(fast),
    },
  ]
}

export function spread(
  runs: readonly Run[],
  which: 'toAnswer' | 'toArrival' | 'answerToArrival',
): Pick<Row, 'measured' | 'cpu'> {
  const at = (share: number): string =>
    median(runs.map((run) => percentile(run[which], share))).toFixed(2)
  return { measured: `p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)} ms`, cpu: cpuOf(runs) }
}

function sum(parts: Readonly<Record<string, number>>): number {
  return Object.values(parts).reduce((total, value) => total + value, 0)
}

import { setTimeout as sleep } from 'node:timers/promises'

import { median } from '../measure.ts'
import { openRelay, WARM_UP, type Relay } from '../relay.ts'
import { memoryOf, rateText, type Row } from '../table.ts'

export const BACKLOG = 100_000
const DRAIN_DEADLINE_MS = 120_000
const RUNS = 3

/** A backlog made while the worker stands still, then drained with no ingest beside it; the first one is not counted. */
export async function drain(): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024 })
  await relay.run(WARM_UP)
  await drainOnce(relay)
  const rates: number[] = []
  for (let n = 0; n < RUNS; n++) rates.push(await drainOnce(relay))
  const memory = memoryOf(relay.installation.supervisorPid)
  return [
    {
      figure: `drain of a ${BACKLOG.toLocaleString('en')} backlog`,
      must: '18,000/s',
      measured: rateText(median(rates)),
      cpu: memory,
    },
  ]
}

/** Deliveries a second. */
export async function drainOnce(
  relay: Pick<Relay, 'sink' | 'fill' | 'workerPid'>,
): Promise<number> {
  const worker = relay.workerPid()
  process.kill(worker, 'SIGSTOP')
  await relay.fill(BACKLOG)
  const times: number[] = []
  const note = (): void => void times.push(performance.now())
  relay.sink.listeners.add(note)
  process.kill(worker, 'SIGCONT')
  const deadline = performance.now() + DRAIN_DEADLINE_MS
  while (times.length < BACKLOG && performance.now() < deadline) await sleep(20)
  relay.sink.listeners.delete(note)
  return (times.length / ((times.at(-1) ?? 0) - (times[0] ?? 0))) * 1_000
}

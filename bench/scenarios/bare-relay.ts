import { openBareRelay } from '../floors/bare-relay.ts'
import { cpuOf, floorRow, ratePerSecond, rateText, repeat, type Row } from '../table.ts'
import { BACKLOG, drainOnce } from './drain.ts'
import { spread } from './latency.ts'

const SECONDS = 8
const RATES = [50, 200, 500]

/**
 * Measures a relay on this machine that keeps the promise and has no features: the machine sets a limit that this relay
 * does not pass either; the distance between it and us is the cost of our features.
 */
export async function bareRelay(): Promise<Row[]> {
  await using relay = await openBareRelay()
  const at = (traffic: { connections: number; window?: number; rate?: number }) =>
    repeat(() => relay.run({ seconds: SECONDS, ...traffic }))
  const full = await at({ connections: 128, window: 256 })
  const rows = [row('sustained deliveries', rateText(ratePerSecond(full)), cpuOf(full))]
  for (const rate of RATES) {
    const runs = await at({ connections: 32, rate })
    for (const [what, which] of [
      ['request to 200', 'toAnswer'],
      ['200 to destination', 'answerToArrival'],
      ['request to destination', 'toArrival'],
    ] as const) {
      const { measured, cpu } = spread(runs, which)
      rows.push(row(`${rate}/s: ${what}`, measured, cpu))
    }
  }
  const drained = rateText(await drainOnce(relay))
  return [...rows, row(`drain of a ${BACKLOG.toLocaleString('en')} backlog`, drained)]
}

const row = (what: string, measured: string, cpu?: string): Row =>
  floorRow(`a bare relay, ${what}`, measured, cpu)

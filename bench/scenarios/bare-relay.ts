import { openBareRelay } from '../floors/bare-relay.ts'
import { median } from '../measure.ts'
import { cpuOf, repeat, type Row } from '../table.ts'
import { BACKLOG, drainOnce } from './drain.ts'
import { spread } from './latency.ts'

const SECONDS = 8
const RATES = [50, 200, 500]

/**
 * What this machine lets a relay do that keeps the promise and has no features: a figure that it does not reach either is
 * the machine's, and what it reaches and we do not is what our features cost.
 */
export async function bareRelay(): Promise<Row[]> {
  await using relay = await openBareRelay()
  const at = (traffic: { connections: number; window?: number; rate?: number }) =>
    repeat(() => relay.run({ seconds: SECONDS, ...traffic }))
  const full = await at({ connections: 128, window: 256 })
  const sustained = median(full.map((run) => run.delivered / run.seconds))
  const rows = [rowOf('sustained deliveries', perSecond(sustained), cpuOf(full))]
  for (const rate of RATES) {
    const runs = await at({ connections: 32, rate })
    for (const [what, which] of [
      ['request to 200', 'toAnswer'],
      ['200 to destination', 'answerToArrival'],
      ['request to destination', 'toArrival'],
    ] as const) {
      const { measured, cpu } = spread(runs, which)
      rows.push(rowOf(`${rate}/s: ${what}`, measured, cpu))
    }
  }
  const drained = perSecond(await drainOnce(relay))
  return [...rows, rowOf(`drain of a ${BACKLOG.toLocaleString('en')} backlog`, drained, '')]
}

const perSecond = (value: number): string => `${Math.round(value).toLocaleString('en')}/s`
const rowOf = (what: string, measured: string, cpu: string): Row => ({
  figure: `floor: a bare relay, ${what}`,
  must: '',
  measured,
  cpu,
})

import { median, type Run } from '../measure.ts'
import { openRelay } from '../relay.ts'
import { cpuOf, repeat, type Row } from '../table.ts'

const SECONDS = 8

/** Events under way: enough to keep every part busy, few enough that no queue hides. */
const WINDOW = 256

const MUST = new Map([
  [1, '6,500/s'],
  [3, '8,000/s'],
])

/** As fast as deliveries arrive, so that what is accepted is also delivered. */
export async function capacity(fanOut: number): Promise<Row[]> {
  await using relay = await openRelay({ fanOut, bodyBytes: 1_024 })
  const runs = await repeat(() => relay.run({ seconds: SECONDS, connections: 128, window: WINDOW }))
  const perSecond = median(runs.map((run: Run) => run.delivered / run.seconds))
  return [
    {
      figure: `sustained deliveries, fan-out ${fanOut}`,
      must: MUST.get(fanOut) ?? '',
      measured: `${Math.round(perSecond).toLocaleString('en')}/s`,
      cpu: cpuOf(runs),
    },
  ]
}

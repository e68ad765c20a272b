import { openRelay } from '../relay.ts'
import { cpuOf, ratePerSecond, rateText, repeat, type Row } from '../table.ts'

/** Events under way: enough to keep every part busy, few enough that no queue hides. */
const WINDOW = 256
const DELIVERIES_UNDERWAY_MAX = 1_024

const MUST = new Map([
  [1, '6,500/s'],
  [3, '8,000/s'],
])

/** As fast as deliveries arrive, so that what is accepted is also delivered. */
export async function capacity(
  fanOut: number,
  { seconds = 8 }: { seconds?: number } = {},
): Promise<Row[]> {
  await using relay = await openRelay({ fanOut, bodyBytes: 1_024 })
  const window = Math.min(WINDOW, Math.ceil(DELIVERIES_UNDERWAY_MAX / fanOut))
  const runs = await repeat(() => relay.run({ seconds, connections: 128, window }))
  return [
    {
      figure: `sustained deliveries, fan-out ${fanOut}`,
      must: MUST.get(fanOut) ?? '',
      measured: rateText(ratePerSecond(runs)),
      cpu: cpuOf(runs),
    },
  ]
}

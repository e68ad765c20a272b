import { openRelay } from '../relay.ts'
import { cpuOf, memoryOf, ratePerSecond, rateText, repeat, type Row } from '../table.ts'

const WINDOW = 256
/** Each address costs a listening port, and each connection to it another. */
const ADDRESSES_MAX = 1_000

export interface DestinationsOptions {
  destinations?: number
  seconds?: number
}

/** Events in turn for many sources, each with a destination of its own. */
export async function destinations(options: DestinationsOptions): Promise<Row[]> {
  const { destinations: count = 1_000, seconds = 5 } = options
  const sinks = Math.min(count, ADDRESSES_MAX)
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024, sources: count, sinks })
  const runs = await repeat(() => relay.run({ seconds, connections: 128, window: WINDOW }))
  return [
    {
      figure: `sustained deliveries, ${count.toLocaleString('en')} sources and destinations at ${sinks.toLocaleString('en')} addresses`,
      must: '',
      measured: rateText(ratePerSecond(runs)),
      cpu: `${cpuOf(runs)}; ${memoryOf(relay.installation.supervisorPid)}`,
    },
  ]
}

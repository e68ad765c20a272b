import { percentile } from '../measure.ts'
import { openRelay } from '../relay.ts'
import { cpuOf, ratePerSecond, repeat, type Row } from '../table.ts'

/** Bodies by size, with a rate at which nothing queues. */
const SIZES = [
  { name: '1 KiB', bytes: 1_024, rate: 200 },
  { name: '16 KiB', bytes: 16 * 1_024, rate: 100 },
  { name: '256 KiB', bytes: 256 * 1_024, rate: 10 },
  { name: '5 MiB', bytes: 5 * 1_024 * 1_024, rate: 1 },
]
const UNDERWAY_BYTES = 16 * 1_024 * 1_024
const UNDERWAY_MAX = 256
const MEGABYTE = 1_000_000

export async function bodies({ seconds = 3 }: { seconds?: number }): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, bytes, rate } of SIZES) {
    await using relay = await openRelay({ fanOut: 1, bodyBytes: bytes })
    const window = Math.min(UNDERWAY_MAX, Math.ceil(UNDERWAY_BYTES / bytes))
    const connections = Math.min(128, window)
    const runs = await repeat(() => relay.run({ seconds, connections, window }))
    const perSecond = ratePerSecond(runs)
    const slow = await relay.run({ seconds: seconds * 2, connections, rate })
    const at = (share: number): string => percentile(slow.toArrival, share).toFixed(1)
    rows.push(
      {
        figure: `sustained deliveries, bodies of ${name}`,
        must: '',
        measured: `${perSecond.toFixed(perSecond < 100 ? 1 : 0)}/s, ${Math.round((perSecond * bytes) / MEGABYTE)} MB/s`,
        cpu: cpuOf(runs),
      },
      {
        figure: `${rate}/s of ${name}: request to destination`,
        must: '',
        measured: `p50 ${at(0.5)}, p99 ${at(0.99)} ms`,
        cpu: cpuOf([slow]),
      },
    )
  }
  return rows
}

import { forEachPart, readUsage, type Part } from '../processes.ts'
import { openRelay } from '../relay.ts'
import { openStuckSink } from '../stuck-sink.ts'
import type { Row } from '../table.ts'
import { awaitWaiting } from '../waiting.ts'

const MUST_MB = [
  ['worker', 260],
  ['ingest', 200],
  ['nats', 80],
] as const
const SAMPLE_MS = 250
const PARKED_DEADLINE_MS = 60_000

/** Deliveries of a lane and its claims in memory; the rest waits in PostgreSQL. */
const IN_MEMORY_MAX = 2_000

/** A second's traffic beside them would hide what waiting costs, so nothing else is sent. */
export async function memory({ waiting = 100_000 }: { waiting?: number }): Promise<Row[]> {
  const paced = { rateLimit: 1, rateLimitPeriod: 'second' }
  await using hung = await openStuckSink('hangs')
  return [
    ...(await memoryOf('for a paced destination', waiting, { destination: paced })),
    ...(await memoryOf('for one that hangs', waiting, { urls: [hung.url] })),
  ]
}

async function memoryOf(
  what: string,
  count: number,
  where: { destination?: object; urls?: readonly string[] },
): Promise<Row[]> {
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024, ...where })
  const { supervisorPid, databaseUrl } = relay.installation
  const peaks = forEachPart(() => 0)
  const now = (): Record<Part, number> => {
    const usage = readUsage(supervisorPid)
    return forEachPart((part) => Math.round(usage[part].rssBytes / 1_048_576))
  }
  const sampler = setInterval(() => {
    const rss = now()
    for (const [part] of MUST_MB) peaks[part] = Math.max(peaks[part], rss[part])
  }, SAMPLE_MS)
  await relay.fill(count)
  const parked = await awaitWaiting(databaseUrl, count - IN_MEMORY_MAX, PARKED_DEADLINE_MS)
  clearInterval(sampler)
  const rss = now()
  return MUST_MB.map(([part, most]) => ({
    figure: `${part} memory with ${count.toLocaleString('en')} waiting ${what}`,
    must: `${most} MB`,
    measured: `${rss[part]} MB`,
    cpu: `at most ${peaks[part]} MB while they came; ${parked.toLocaleString('en')} parked`,
  }))
}

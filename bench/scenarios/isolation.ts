import { openTrafficSink, percentile } from '../measure.ts'
import { fill, openRelay, type Relay } from '../relay.ts'
import { addRoutes } from '../routes.ts'
import { openStuckSink } from '../stuck-sink.ts'
import { cpuOf, type Row } from '../table.ts'

const RATE = 200
const DESTINATIONS = 20
const CONNECTIONS = 32
const WARM_UP_SECONDS = 2
const PACE = { rateLimit: 50, rateLimitPeriod: 'second' }

export interface IsolationOptions {
  /** Events for the destination that others must not feel. */
  waiting?: number
  seconds?: number
}

/** Normal traffic over twenty destinations beside one that is paced, that hangs, or that answers a byte a second. */
export async function isolation(options: IsolationOptions): Promise<Row[]> {
  const { waiting = 20_000, seconds = 10 } = options
  await using relay = await openRelay({ fanOut: 1, bodyBytes: 1_024, sources: DESTINATIONS })
  await using paced = await openTrafficSink()
  await using hanging = await openStuckSink('hangs')
  await using trickling = await openStuckSink('trickles')
  const beside = async (name: string, url: string, destination: object): Promise<Row> => {
    const others = { fanOut: 1, bodyBytes: 1_024, urls: [url], destination }
    const { target, destinationIds } = await addRoutes(relay.installation, others)
    await fill(target, waiting)
    const row = await normal(relay, `one ${name}, ${waiting.toLocaleString('en')} waiting`, seconds)
    for (const id of destinationIds) {
      const data = { isEnabled: false }
      await relay.installation.call('PATCH', `/v1/destinations/${id}`, { data })
    }
    return row
  }
  return [
    await normal(relay, 'nothing else', seconds),
    await beside('paced at 50/s', paced.urls[0] ?? '', PACE),
    await beside('that hangs', hanging.url, {}),
    await beside('that trickles', trickling.url, {}),
  ]
}

/** Normal traffic to the destinations of the relay. */
export async function normal(relay: Relay, beside: string, seconds: number): Promise<Row> {
  await relay.run({ seconds: WARM_UP_SECONDS, connections: CONNECTIONS, rate: RATE })
  const run = await relay.run({ seconds, connections: CONNECTIONS, rate: RATE })
  const at = (share: number): string => percentile(run.answerToArrival, share).toFixed(2)
  const undelivered = run.accepted - run.delivered
  return {
    figure: `${RATE}/s over ${DESTINATIONS} destinations beside ${beside}: 200 to destination`,
    must: 'p99 10 ms',
    measured: `p50 ${at(0.5)}, p99 ${at(0.99)} ms${undelivered > 0 ? `, ${undelivered} late` : ''}`,
    cpu: cpuOf([run]),
  }
}

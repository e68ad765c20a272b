import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { freePorts } from '../../standalone/processes/ports.ts'
import { openConnector } from './connector.ts'
import { startLoad } from './load.ts'
import { noNetwork, openNetwork, type Network } from './network.ts'
import { startRelay, type Relay } from './relay.ts'
import { openRoute } from './route.ts'
import { settle } from './settle.ts'
import { until } from './until.ts'

/** Promised, and what it takes to be seen in a row on a busy machine. */
const NOTICED_MS = 30_000
const SEEN_MS = 5_000
const PATIENT = { retryPolicy: { strategy: 'schedule', scheduleSeconds: [1], maxAttempts: 50 } }
const TIMEOUT_MS = 300_000
const missing = noNetwork()
if (missing !== undefined) process.stdout.write(`No links are cut here: ${missing}\n`)
const Seen = z.object({ onlineReplicas: z.number() })

let network: Network
let relay: Relay
beforeAll(async () => {
  if (missing !== undefined) return
  network = openNetwork()
  const [apiPort, gatewayPort] = await freePorts(2)
  relay = await startRelay({
    HOST: '0.0.0.0',
    API_REQUESTS_PER_MINUTE: '100000',
    API_PORT: String(apiPort),
    API_URL: `http://${network.host}:${apiPort}`,
    GATEWAY_PORT: String(gatewayPort),
    GATEWAY_URL: `ws://${network.host}:${gatewayPort}`,
  })
}, TIMEOUT_MS)
afterAll(async () => {
  await relay?.[Symbol.asyncDispose]()
  network?.[Symbol.dispose]()
})

test.skipIf(missing !== undefined)(
  'a link that is cut without a close is noticed within 30 s, and nothing that was accepted is lost',
  async () => {
    const { host, prefix } = network
    await using connector = await openConnector(relay, 'cut', { prefix, relayUrl: relay.apiUrl })
    const destination = { ...PATIENT, ...connector.destination }
    await using route = await openRoute(relay, 'cut', { destination, listensOn: host })
    connector.startAgent('far', [route.destination.url])
    await connector.online(1)
    await using load = startLoad({ ...route, perSecond: 20 })
    await load.reached(60)
    network.cut()
    const cutAt = performance.now()
    const isNoticed = async (): Promise<boolean> =>
      Seen.parse(await relay.api('GET', `/v1/connectors/${connector.id}`)).onlineReplicas === 0
    await until('the cut is noticed', isNoticed, NOTICED_MS + SEEN_MS)
    expect(performance.now() - cutAt).toBeGreaterThan(1_000)
    await sleep(2_000)
    network.mend()
    await connector.online(1)
    await load.goesOn(60)
    await settle('a link cut', relay, { route, sent: await load.stop() })
  },
  TIMEOUT_MS,
)

test.skipIf(missing !== undefined)(
  'a large body on a slow link lets small ones pass',
  async () => {
    const { host, prefix } = network
    await using connector = await openConnector(relay, 'slow', { prefix, relayUrl: relay.apiUrl })
    const destination = { ...PATIENT, ...connector.destination, timeoutMs: 60_000 }
    await using large = await openRoute(relay, 'slow and large', {
      destination,
      listensOn: host,
      keepsBodies: false,
      source: { maxPayloadSizeKb: 5_120 },
    })
    await using small = await openRoute(relay, 'slow and small', { destination, listensOn: host })
    connector.startAgent('far', [large.destination.url, small.destination.url])
    await connector.online(1)
    network.slow(2_000)
    const headers = { 'content-type': 'application/json' }
    const padding = 'x'.repeat(2 * 1_024 * 1_024)
    // Some eight seconds on this link, to the agent and from it to the destination.
    await using heavy = startLoad({
      ...large,
      perSecond: 0.5,
      requestOf: (number) => ({
        target: '',
        headers,
        body: Buffer.from(`{"number":${number},"type":"order.paid","padding":"${padding}"}`),
      }),
    })
    await heavy.reached(1)
    const sentLarge = await heavy.stop()
    await using load = startLoad({ ...small, perSecond: 5 })
    await load.reached(15)
    const arrivedFirst = large.destination.arrivals.size
    const { arrivals } = small.destination
    await until('small ones arrive', () => arrivals.size > 5, 60_000)
    expect(arrivedFirst).toBe(0)
    await settle('small on a slow link', relay, { route: small, sent: await load.stop() })
    await settle('large on a slow link', relay, { route: large, sent: sentLarge })
  },
  TIMEOUT_MS,
)

import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { compileSigner, sign } from '../../core/delivery/signature.ts'
import { freePort } from '../../standalone/processes/ports.ts'
import { scratch } from '../kit/servers.ts'
import { openBalancer } from './balancer.ts'
import type { Arrival } from './destination.ts'
import { openFleet, type Fleet } from './fleet.ts'
import { startLoad, type Load } from './load.ts'
import { openRoute, stored, type Route } from './route.ts'
import { settle } from './settle.ts'
import { isAccepted } from './tally.ts'

interface Rate {
  perSecond: number
  /** How long the destination takes. */
  delayMs: number
}
const QUICK = { perSecond: 50, delayMs: 0 }
/** Attempts outlast the time in which every process has read the stop. */
const SLOW = { perSecond: 3, delayMs: 8_000 }
const SENT_BETWEEN = 100
const ACCEPTED_MS = 20_000
const CONNECTIONS = 8
const Listed = z.object({ data: z.array(z.object({ id: z.string(), name: z.string() })) })
const Secret = z.object({ secret: z.string() })
const Exported = z.object({ events: z.number(), deliveries: z.number() })

const stack = new AsyncDisposableStack()
let source: Fleet
let target: Fleet
beforeAll(async () => {
  source = stack.use(await openFleet())
  target = stack.use(await openFleet())
})
afterAll(async () => await stack.disposeAsync())

interface Lane {
  name: string
  route: Route
  secret: string
  front: Front
  load: Load
}

/** The address of ingest that the senders of a source have, which leads to one installation at a time. */
interface Front {
  url: string
  leadTo: (ingestUrl: string) => void
}

async function openFront(ingestUrl: string): Promise<Front> {
  const { port, pathname } = new URL(ingestUrl)
  const behind = [Number(port)]
  const front = await freePort()
  stack.use(await openBalancer(front, behind))
  return {
    url: `http://127.0.0.1:${front}${pathname}`,
    leadTo: (url) => void behind.splice(0, 1, Number(new URL(url).port)),
  }
}

async function openLane(name: string, { perSecond, delayMs }: Rate): Promise<Lane> {
  const route = stack.use(await openRoute(source, name, { delayMs }))
  const { data } = Listed.parse(await source.api('GET', '/v1/destinations'))
  const id = data.find((one) => one.name === name)?.id
  const { secret } = Secret.parse(await source.api('GET', `/v1/destinations/${id}/signing-secret`))
  const front = await openFront(route.ingestUrl)
  const options = { ...route, ingestUrl: front.url, perSecond, connections: CONNECTIONS }
  return { name, route, secret, front, load: stack.use(startLoad(options)) }
}

test('an organisation moves to another installation under load', { timeout: 180_000 }, async () => {
  const lanes = [await openLane('quick', QUICK), await openLane('slow', SLOW)]
  const directory = stack.use(scratch())
  const goesOn = async (): Promise<void> => {
    await Promise.all(lanes.map(async ({ load }) => await load.accepted(ACCEPTED_MS)))
    await lanes[0]?.load.goesOn(SENT_BETWEEN)
  }
  await goesOn()

  const id = source.organisationId
  const organisations = async (fleet: Fleet, verb: string, ...words: string[]) =>
    await fleet.admin('organisations', verb, ...words)
  const file = (name: string): string[] => {
    const [path, keyPath] = [join(directory.path, name), join(directory.path, 'key')]
    return ['--file', path, '--key-file', keyPath]
  }
  await organisations(source, 'stop', id)
  const stoppedAtMs = performance.now()
  await goesOn()
  const whole = await organisations(source, 'export', id, ...file('all'), '--events', 'all')
  expect(Exported.parse(JSON.parse(whole)).events).toBeGreaterThan(2 * SENT_BETWEEN)
  await goesOn()
  await organisations(target, 'import', ...file('all'))
  const startedAtMs = performance.now()
  await organisations(target, 'start', id)
  await goesOn()
  for (const { front } of lanes) front.leadTo(target.ingestUrl)
  await goesOn()
  await organisations(source, 'close', id)
  await goesOn()
  const rest = await organisations(source, 'export', id, ...file('rest'), '--rest')
  expect(Exported.parse(JSON.parse(rest)).events).toBeGreaterThan(SENT_BETWEEN)
  await organisations(target, 'import', ...file('rest'))
  await goesOn()

  for (const lane of lanes) await expectAccounted(lane, { stoppedAtMs, startedAtMs })
  expect([source.deaths(), target.deaths()]).toEqual([0, 0])
})

/** Each accepted event is once at the target and was delivered once, under its secret, and none between stop and start. */
async function expectAccounted(
  { name, route, secret, load }: Lane,
  { stoppedAtMs, startedAtMs }: { stoppedAtMs: number; startedAtMs: number },
): Promise<void> {
  const sent = await load.stop()
  const account = await settle(`moved to another installation, ${name}`, target, { route, sent })
  const accepted = sent.filter(isAccepted)
  expect(account).toMatchObject({ unanswered: 0, duplicated: 0 })
  expect(account.refused).toBeLessThanOrEqual(CONNECTIONS)
  expect(accepted).toHaveLength(account.sent - account.refused)
  expect(await stored(target, route)).toBe(accepted.length)
  const arrivals = [...route.destination.arrivals.values()].flat()
  expect(arrivals.filter(({ atMs }) => atMs > stoppedAtMs && atMs < startedAtMs)).toEqual([])
  expect(arrivals.filter((arrival) => !isSignedBy(secret, arrival))).toEqual([])
}

function isSignedBy(secret: string, arrival: Arrival): boolean {
  const { webhookId, signedAtSeconds, body, signature } = arrival
  return sign(compileSigner([secret]), webhookId, signedAtSeconds, body) === signature
}

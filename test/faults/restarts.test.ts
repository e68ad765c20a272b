import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { isGone } from '../../standalone/processes/os-process.ts'
import { startLoad, type Sent } from './load.ts'
import { startRelay, type Relay } from './relay.ts'
import { openRoute, stored, type Route } from './route.ts'
import { settle } from './settle.ts'
import { until } from './until.ts'

const PER_SECOND = 500
const BEFORE = 2 * PER_SECOND
const AFTER = 2 * PER_SECOND
const BACK_MS = 30_000
const ENDS_MS = 5_000
const MAKERS = 8
const PAUSE_MS = 20
/** After a start a role has work of its own for a moment. */
const IDLE_MS = 3_000
const IDLE_ENDS_MS = 2_000
const API_LOAD = 'api under load '
const ROLES = ['ingest', 'worker', 'housekeeper', 'api'] as const
type Role = (typeof ROLES)[number]

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

/** Asks the role to end, as a rollout does, and waits for the one after it. */
async function restart(role: Role): Promise<void> {
  const pid = relay.role(role)
  process.kill(pid, 'SIGTERM')
  await until(`${role} runs again`, () => relay.role(role) !== pid, BACK_MS)
  if (role === 'api') await until('the API answers', answers, BACK_MS)
}

async function answers(): Promise<boolean> {
  await relay.api('GET', '/v1/sources')
  return true
}

/** Whoever could not connect, or was told 503, was not accepted; whoever was is stored once and delivered once. */
async function expectOrderly(
  title: string,
  { route, sent }: { route: Route; sent: readonly Sent[] },
  answered: object,
): Promise<void> {
  const account = await settle(title, relay, { route, sent })
  expect(account).toMatchObject(answered)
  expect(account).toMatchObject({ duplicated: 0, delivered: account.accepted })
  expect(await stored(relay, route)).toBe(account.accepted)
}

test.for(ROLES)('SIGTERM to %s under load fails and repeats nothing', async (role) => {
  await using route = await openRoute(relay, `restart ${role}`)
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  await load.reached(BEFORE)
  await restart(role)
  await load.accepted(BACK_MS)
  await load.reached(BEFORE + AFTER)
  const answered = role === 'ingest' ? {} : { refused: 0, unanswered: 0 }
  await expectOrderly(`SIGTERM to ${role}`, { route, sent: await load.stop() }, answered)
})

test('SIGTERM to api under load answers what it has taken', async () => {
  const signal = { isOver: false }
  let made = 0
  let count = 0
  const make = async (): Promise<void> => {
    while (!signal.isOver) {
      try {
        await relay.api('POST', '/v1/sources', { name: `${API_LOAD}${count++}` })
        made++
      } catch (error) {
        // Whoever cannot connect was not taken. Every answer but a 2xx is a failure.
        if (!(error instanceof TypeError)) throw error
        await sleep(PAUSE_MS)
      }
    }
  }
  const makers = Array.from({ length: MAKERS }, make)
  await until('the API makes sources', () => made >= MAKERS, BACK_MS)
  await restart('api')
  const madeBefore = made
  await until('the API makes sources again', () => made > madeBefore, BACK_MS)
  signal.isOver = true
  await Promise.all(makers)
  const [row] = await relay.query(
    `select count(*)::int4 as count from source where starts_with(name, $1::text)`,
    [API_LOAD],
  )
  expect(row).toEqual({ count: made })
})

test('an API that was asked nothing yet ends when it is told to', async () => {
  const former = relay.role('api')
  process.kill(former, 'SIGTERM')
  await until('the API runs again', () => relay.role('api') !== former, BACK_MS)
  const fresh = relay.role('api')
  const listens = async (): Promise<boolean> => (await fetch(`${relay.apiUrl}/openapi.json`)).ok
  await until('it listens', listens, BACK_MS)
  process.kill(fresh, 'SIGTERM')
  expect(await isGone(fresh, ENDS_MS)).toBe(true)
  await until('the API answers', answers, BACK_MS)
})

test('restarting every role one by one under load fails and repeats nothing', async () => {
  await using route = await openRoute(relay, 'rolling restart')
  await using load = startLoad({ ...route, perSecond: PER_SECOND })
  await load.reached(BEFORE)
  for (const role of ROLES) {
    await restart(role)
    await load.accepted(BACK_MS)
  }
  await load.reached(BEFORE + AFTER)
  await expectOrderly('rolling restart', { route, sent: await load.stop() }, {})
})

test.for(ROLES)('An idle %s ends within two seconds of SIGTERM', async (role) => {
  const pid = relay.role(role)
  await sleep(IDLE_MS)
  const askedAt = performance.now()
  process.kill(pid, 'SIGTERM')
  expect(await isGone(pid, BACK_MS)).toBe(true)
  const endedMs = performance.now() - askedAt
  await until(`${role} runs again`, () => relay.role(role) !== pid, BACK_MS)
  expect(endedMs).toBeLessThan(IDLE_ENDS_MS)
})

import { afterAll, beforeAll, expect, test } from 'vitest'

import { openFleet, type Fleet } from './fleet.ts'
import { startLoad } from './load.ts'
import { openRoute } from './route.ts'

/** Each has one connection, which it keeps: a hundred requests a second, 40 ms away. */
const CLIENTS = 20
/** Each has a rate of its own, so that they do not send all at once. */
const perSecond = (client: number): number => 4 + client / 10
const DELAY_MS = 20
const RESTARTS = 3
const BEFORE = 10
const ACCEPTED_MS = 20_000

let fleet: Fleet
beforeAll(async () => {
  fleet = await openFleet({ delayMs: DELAY_MS })
})
afterAll(async () => await fleet[Symbol.asyncDispose]())

test('no client of ingest meets a closed connection while a process takes the place of another', async () => {
  await using route = await openRoute(fleet, 'kept connections')
  await using stack = new AsyncDisposableStack()
  const loads = Array.from({ length: CLIENTS }, (_none, client) =>
    stack.use(startLoad({ ...route, perSecond: perSecond(client), connections: 1 })),
  )
  for (let count = 0; count < RESTARTS; count++) {
    await Promise.all(loads.map(async (load) => await load.goesOn(BEFORE)))
    await fleet.replace('ingest')
    await Promise.all(loads.map(async (load) => await load.accepted(ACCEPTED_MS)))
  }
  const sent = (await Promise.all(loads.map(async (load) => await load.stop()))).flat()
  const failed = sent.filter(({ answer }) => answer.kind !== 'accepted')
  process.stdout.write(`${RESTARTS} restarts: ${sent.length} requests, ${failed.length} failed\n`)
  expect(failed).toEqual([])
})

test('no client of the API meets a closed connection while a process takes the place of another', async () => {
  const over = new AbortController()
  let asked = 0
  const ask = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await fleet.api('GET', '/v1/sources')
      asked++
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, ask))
  try {
    for (let count = 0; count < RESTARTS; count++) {
      await Promise.race([fleet.replace('api'), clients])
    }
  } finally {
    over.abort()
  }
  await clients
  expect(asked).toBeGreaterThan(CLIENTS * RESTARTS)
})

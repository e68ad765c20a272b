import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { DAY_MS } from '../../core/clock.ts'
import { decodeId } from '../../core/ids.ts'
import { says } from '../kit/endpoint.ts'
import { startRelay, type Relay } from '../kit/relay.ts'

/** Past every day whose partition is there. */
const UNMADE_DAYS = 100

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

/** Where the row of a delivery lies. */
async function partitionOf(id: string): Promise<string | undefined> {
  const { rows } = await sql<{ partition: string }>`
    select tableoid::regclass::text as partition from delivery where id = ${decodeId('dlv', id)}`.execute(
    relay.db,
  )
  return rows[0]?.partition
}

test('a result is recorded in the partition of its day', async () => {
  const { source } = await relay.route({ respond: says(200) })
  const delivery = await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  const today = new Date(relay.clock.now()).toISOString().slice(0, 10).replaceAll('-', '')
  expect(delivery.attempts).toHaveLength(1)
  expect(await partitionOf(delivery.id)).toBe(`delivery_90_${today}`)
})

test('a result is recorded for a delivery whose day has no partition', async () => {
  const { source } = await relay.route({ respond: says(200) })
  await relay.advance(UNMADE_DAYS * DAY_MS)
  const delivery = await relay.reaches(await relay.accept(source), { status: 'succeeded' })
  expect(delivery.attempts).toHaveLength(1)
  expect(await partitionOf(delivery.id)).toBe('delivery_90_rest')
})

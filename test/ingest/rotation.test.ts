import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { newMaskId } from '../../core/keys/mask-id.ts'
import { eventually, startRelay, type Relay, type Resource } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

let relay: Relay
beforeAll(async () => {
  relay = await startRelay()
})
afterAll(async () => await relay[Symbol.asyncDispose]())

test('an old mask becomes 404 even when the new one was used before ingest heard of the change', async () => {
  const source = await relay.make('sources', {})
  await relay.accept(source)
  const maskId = newMaskId()
  // As if the notice of the management API were lost: ingest hears by its poll, after the new mask was loaded.
  await sql`update source set mask_id = ${maskId} where id = ${uuid('src', source.id)}`.execute(
    relay.db,
  )
  await relay.accept({ ...source, maskId })
  await eventually(async () => {
    expect(await relay.send(source)).toMatchObject({ status: 404 })
  })
  await relay.accept({ ...source, maskId })
})

test('a challenge that shows the previous secret is refused after the overlap', async () => {
  const source: Resource = await relay.make('sources', {
    verifier: { preset: 'okta', secret: 'the-first-secret' },
  })
  const rotate = `/v1/sources/${source.id}/rotate-secret`
  const wish = { secret: 'the-second-secret', overlapSeconds: 60 }
  expect((await relay.api('POST', rotate, wish)).status).toBe(200)
  const ask = async (authorization: string): Promise<number> => {
    const headers = { authorization, 'x-okta-verification-challenge': 'abc' }
    return (await relay.send(source, { method: 'GET', headers })).status
  }
  expect([await ask('the-second-secret'), await ask('the-first-secret')]).toEqual([200, 200])
  await relay.advance(60_000)
  expect([await ask('the-second-secret'), await ask('the-first-secret')]).toEqual([200, 405])
})

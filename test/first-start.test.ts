import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { ensureTenant } from '../standalone/first-start.ts'
import { SURROUNDINGS } from './kit/program.ts'
import { scratch } from './kit/servers.ts'
import { startWorld } from './kit/world.ts'

test('a first start that ends before its key is made goes on with the same organisation', async () => {
  await using world = await startWorld()
  using place = scratch()
  const start = async () =>
    await ensureTenant({
      dataDir: place.path,
      database: 'embedded',
      env: { ...SURROUNDINGS, DATABASE_URL: world.databaseUrl, NATS_URL: world.natsUrl },
      print: () => {},
    })
  const first = await start()
  const file = join(place.path, 'first-start.json')
  const kept = JSON.parse(readFileSync(file, 'utf8'))
  expect(kept).toEqual(first)
  writeFileSync(file, JSON.stringify({ ...kept, apiKey: null }))
  const second = await start()
  expect(second).toEqual({ ...first, apiKey: expect.stringMatching(/^pst_sk_/) })
  expect(second.apiKey).not.toBe(first.apiKey)
  expect(await start()).toEqual(second)
  const { rows } = await world.pool.query(
    `select count(*) from organisation where name = 'Standalone'`,
  )
  expect(rows).toEqual([{ count: 1 }])
  expect((await world.api('GET', '/v1/sources', undefined, { key: second.apiKey })).status).toBe(
    200,
  )
})

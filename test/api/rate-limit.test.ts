import { sql } from 'kysely'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

import { buildApp } from '../../api/app.ts'
import { useApiKey } from '../../core/db/configuration/api-keys.ts'
import { openDb, openPool, type Db } from '../../core/db/connection/db.ts'
import { parseApiKey } from '../../core/keys/api-key.ts'
import type { Answer } from '../kit/call-api.ts'
import { startWorld } from '../kit/world.ts'

const HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']

test('600 requests a minute are counted exactly over two API processes', async () => {
  await using world = await startWorld({ requestsPerMinute: 600 })
  const pool = openPool({ url: world.databaseUrl, max: 5, log: world.deps.log })
  await using db = openDb(pool)
  await using second = buildApp({ ...world.deps, db, registry: new Registry() })
  const urls = [world.apiUrl, await second.listen({ host: '127.0.0.1', port: 0 })]
  const left: number[] = []
  const refused: Response[] = []
  const ask = async (n: number): Promise<void> => {
    const response = await fetch(`${urls[n % 2]}/v1/verifier-presets`, {
      method: 'GET',
      headers: { authorization: `Bearer ${world.key}` },
    })
    await response.arrayBuffer()
    if (response.status === 429) refused.push(response)
    else left.push(Number(response.headers.get('x-ratelimit-remaining')))
  }
  for (let first = 0; first < 640; first += 40) {
    await Promise.all(Array.from({ length: 40 }, async (_, n) => await ask(first + n)))
  }
  expect(refused).toHaveLength(40)
  // Each number that is left was told once: no process counted by itself.
  expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 600 }, (_, n) => n))
  for (const { headers } of refused) {
    expect(headers.get('x-ratelimit-limit')).toBe('600')
    expect(headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60)
  }
})

test('429 is { status, message } without a code, and what a key asks is not done', async () => {
  await using world = await startWorld({ requestsPerMinute: 1 })
  await world.api('GET', '/v1/projects')
  for (const [method, path, body] of [
    ['GET', '/v1/projects', undefined],
    ['POST', '/v1/sources', { name: 'too many' }],
    ['POST', '/v1/sources', '{'],
    ['GET', '/v1/sources/src_unknown', undefined],
  ] as const) {
    const answer = await world.api(method, path, body)
    expect(answer.status).toBe(429)
    expect(answer.body).toEqual({ status: 429, message: expect.any(String) })
    expect(answer.headers.get('retry-after')).toBe(answer.headers.get('x-ratelimit-reset'))
  }
  const { rows } = await world.pool.query('select count(*) from source')
  expect(rows[0].count).toBe(0)
})

test('a request is counted without a wait for the disk, which what is written next has', async () => {
  await using world = await startWorld({ requestsPerMinute: 600 })
  await world.deps.db.connection().execute(async (one) => {
    const hash = parseApiKey(world.deps.keyPrefix, world.key) ?? Buffer.alloc(0)
    const at = { nowMs: world.deps.clock.now(), namedProjectId: undefined, address: '192.0.2.1' }
    const settingOf = async (db: Db): Promise<string | undefined> => {
      const { rows } = await sql<{ synchronous_commit: string }>`show synchronous_commit`.execute(
        db,
      )
      return rows[0]?.synchronous_commit
    }
    const during = await one.transaction().execute(async (tx) => {
      expect(await useApiKey(tx, hash, at)).toMatchObject({ requests: 1 })
      return await settingOf(tx)
    })
    expect([during, await settingOf(one)]).toEqual(['off', 'on'])
  })
})

test('every answer below /v1 tells the limit, whatever it is', async () => {
  await using world = await startWorld({ requestsPerMinute: 600 })
  const weak = await world.createKey({ billing: 'read' })
  await world.api('POST', '/v1/sources', { name: 'taken' })
  const answers: [number, Answer][] = [
    [200, await world.api('GET', '/v1/sources')],
    [400, await world.api('GET', '/v1/sources?limit=0')],
    [400, await world.api('POST', '/v1/sources', 'x'.repeat(1024 * 1024 + 1))],
    [400, await world.api('GET', '/v1/sources/%E0%A4%A')],
    [401, await world.api('GET', '/v1/sources', undefined, { key: null })],
    [403, await world.api('GET', '/v1/sources', undefined, { key: weak.key })],
    [404, await world.api('GET', '/v1/sources/src_unknown')],
    [404, await world.api('GET', '/v1/nothing')],
    [404, await world.api('GET', '/v1/sources', undefined, { headers: { 'x-project-id': 'x' } })],
    [409, await world.api('POST', '/v1/sources', { name: 'taken' })],
  ]
  await world.pool.query('alter table source rename to elsewhere')
  answers.push([500, await world.api('GET', '/v1/sources')])
  for (const [status, answer] of answers) {
    expect(answer.status).toBe(status)
    for (const name of HEADERS) expect(answer.headers.get(name), name).toMatch(/^\d+$/)
    expect(answer.headers.get('x-ratelimit-limit')).toBe('600')
  }
})

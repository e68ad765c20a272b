import { randomBytes } from 'node:crypto'

import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { buildApp } from '../../api/app.ts'
import { decodeId } from '../../core/ids.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

const SOURCE = { verifier: { preset: 'meta', secret: 'app-secret-of-twelve' } }
const HANDSHAKE = { handshake: { verifyToken: 'told to the provider' } }
const DESTINATION = {
  url: 'https://shop.example.com/hook',
  headers: { 'X-Tenant': 'one' },
  auth: { type: 'bearer', token: 'a token' },
}

interface Made {
  id: string
  name: string
}

let count = 0
async function make(kind: string, fields: object): Promise<Made> {
  const answer = await world.api('POST', `/v1/${kind}`, { name: `kept ${++count}`, ...fields })
  expect(answer.status).toBe(201)
  return answer.body
}

/** The sealed bytes of a row, in hexadecimal. */
async function sealed(kind: string, { id }: Made): Promise<string | undefined> {
  const isSource = kind === 'sources'
  const row = await world.db
    .selectFrom(isSource ? 'source' : 'destination')
    .select('secrets')
    .where('id', '=', decodeId(isSource ? 'src' : 'dst', id) ?? '')
    .executeTakeFirstOrThrow()
  return row.secrets?.toString('hex')
}

const KINDS = [
  ['sources', { ...SOURCE, ...HANDSHAKE }],
  ['destinations', DESTINATION],
] as const

test.for(KINDS)(
  'a change of %s that names no secret leaves the sealed bytes alone',
  async ([kind, fields]) => {
    const made = await make(kind, fields)
    const before = await sealed(kind, made)
    expect(before).toBeDefined()
    const path = `/v1/${kind}/${made.id}`
    const changes: [string, string, object][] = [
      ['POST', `${path}/toggle`, { isEnabled: false }],
      ['POST', `${path}/toggle`, { isEnabled: true }],
      ['PATCH', path, { data: { name: `${made.name} renamed`, metadata: { a: 'b' } } }],
    ]
    for (const [method, where, body] of changes) {
      expect((await world.api(method, where, body)).status, where).toBe(200)
      expect(await sealed(kind, made), `${method} ${where}`).toBe(before)
    }
  },
)

test.for(KINDS)(
  'a change of %s that says its secrets again leaves the sealed bytes alone',
  async ([kind, fields]) => {
    const made = await make(kind, fields)
    const before = await sealed(kind, made)
    const again = await world.api('PATCH', `/v1/${kind}/${made.id}`, { data: fields })
    expect(again.status).toBe(200)
    const put = await world.api('PUT', `/v1/${kind}/by-name/${made.name}`, {
      ...fields,
      metadata: { declared: 'yes' },
    })
    expect(put.status).toBe(200)
    expect(await sealed(kind, made)).toBe(before)
  },
)

test.for([
  ['sources', { verifier: { preset: 'meta', secret: 'another-app-secret' } }],
  ['sources', { handshake: { verifyToken: 'another token' } }],
  ['sources', { handshake: null }],
  ['destinations', { headers: { 'X-Tenant': 'two' } }],
  ['destinations', { auth: { type: 'bearer', token: 'another' } }],
  ['destinations', { auth: null }],
] as const)('a change of %s to %j seals anew', async ([kind, data]) => {
  const [, fields] = KINDS.find(([name]) => name === kind) ?? []
  const made = await make(kind, fields ?? {})
  const before = await sealed(kind, made)
  expect((await world.api('PATCH', `/v1/${kind}/${made.id}`, { data })).status).toBe(200)
  expect(await sealed(kind, made)).not.toBe(before)
})

test('a resource whose key is missing can be renamed and switched off', async () => {
  const deps = {
    ...world.deps,
    registry: new Registry(),
    keyring: new Map([['9', randomBytes(32)]]),
  }
  await using app = buildApp(deps)
  const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' }
  for (const [kind, fields] of KINDS) {
    const made = await make(kind, fields)
    const send = async (method: 'PATCH' | 'POST' | 'PUT', path: string, body: object) => {
      const payload = JSON.stringify(body)
      const answer = await app.inject({ method, url: `/v1/${kind}/${path}`, payload, headers })
      return answer.statusCode
    }
    expect(await send('POST', `${made.id}/toggle`, { isEnabled: false })).toBe(200)
    expect(await send('PATCH', made.id, { data: { name: `${made.name} again` } })).toBe(200)
    expect(await send('PATCH', made.id, { data: fields })).toBe(500)
  }
  const plain = await make('destinations', { url: DESTINATION.url })
  expect(
    await app.inject({
      method: 'PUT',
      url: `/v1/destinations/by-name/${plain.name}`,
      payload: JSON.stringify({ url: DESTINATION.url, timeoutMs: 5_000 }),
      headers,
    }),
  ).toMatchObject({ statusCode: 200 })
})

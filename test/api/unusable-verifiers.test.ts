import { afterAll, beforeAll, expect, test } from 'vitest'

import { listPresets } from '../../core/verify/presets/presets.ts'
import type { Answer } from '../kit/call-api.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

const GOOD = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

async function post(name: string, verifier: object, rest: object = {}): Promise<Answer> {
  const answer = await world.api('POST', '/v1/sources', { name, verifier, ...rest })
  return answer
}

/** The paths that an answer names, which must be a BAD_REQUEST. */
function pathsOf({ status, body }: Answer): string[] {
  expect(status, JSON.stringify(body)).toBe(400)
  expect(body.code).toBe('BAD_REQUEST')
  return body.data.fields.map(({ path }: { path: string }) => path)
}

test.each([
  ['whsec_!!!', 'body.verifier.secret'],
  ['whsec_', 'body.verifier.secret'],
  ['"whsec_MDEyMw=="', 'body.verifier.secret'],
])('a secret that cannot be read, %s, is refused wherever it is written', async (secret, path) => {
  const name = `unreadable ${secret}`
  const verifier = { preset: 'standardWebhooks', secret }
  expect(pathsOf(await post(name, verifier))).toEqual([path])
  const byName = `/v1/sources/by-name/${encodeURIComponent(name)}`
  expect(pathsOf(await world.api('PUT', byName, { verifier }))).toEqual([path])
  const { body: source } = await post(name, { preset: 'standardWebhooks', secret: GOOD })
  const one = `/v1/sources/${source.id}`
  expect(pathsOf(await world.api('PATCH', one, { data: { verifier } }))).toEqual([
    'body.data.verifier.secret',
  ])
  expect(pathsOf(await world.api('PUT', byName, { verifier }))).toEqual([path])
  expect(pathsOf(await world.api('POST', `${one}/rotate-secret`, { secret }))).toEqual([
    'body.secret',
  ])
  expect((await world.api('GET', one)).body).toEqual(source)
  const rotated = await world.api('POST', `${one}/rotate-secret`, { secret: `v1,${GOOD}` })
  expect(rotated.status).toBe(200)
})

test('a refusal repeats nothing of the secret', async () => {
  const { body } = await post('quiet', { preset: 'adyen', secret: 'not-hex-at-all' })
  expect(JSON.stringify(body)).not.toContain('not-hex')
})

test('a secret that is kept must fit what the verifier becomes', async () => {
  const verifier = { type: 'hmac', signature: { names: ['x-sig'], encoding: 'hex' } }
  const { body: source } = await post('kept', { ...verifier, secret: 'not hex' })
  const change = { data: { verifier: { ...verifier, secretEncoding: 'hex' } } }
  const answer = await world.api('PATCH', `/v1/sources/${source.id}`, change)
  expect(pathsOf(answer)).toEqual(['body.data.verifier.secret'])
  const renamed = await world.api('PATCH', `/v1/sources/${source.id}`, { data: { name: 'named' } })
  expect(renamed.status).toBe(200)
})

const NEEDY = listPresets()
  .map(({ preset, needs }) => ({
    preset,
    needs: needs.filter((need) => !need.startsWith('handshake.')),
  }))
  .filter(({ needs }) => needs.length > 0)

test.each(NEEDY)(
  '$preset: what it needs is named when it is left out',
  async ({ preset, needs }) => {
    const paths = pathsOf(await post(`bare ${preset}`, { preset }))
    const wanted = needs.map((need) => `body.verifier.${need}`)
    expect(wanted).toEqual(expect.arrayContaining(paths))
  },
)

test('the type field of a preset is that of its source, unless another or null is named', async () => {
  const verifier = { preset: 'github', secret: 's' }
  const typed = async (rest: object) => {
    const { body } = await post(`typed ${JSON.stringify(rest)}`, verifier, rest)
    return body.eventTypeField
  }
  expect(await typed({})).toBe('header.x-github-event')
  expect(await typed({ eventTypeField: 'body.action' })).toBe('body.action')
  expect(await typed({ eventTypeField: null })).toBeNull()
  const put = async (body: object) =>
    (await world.api('PUT', '/v1/sources/by-name/typed', body)).body.eventTypeField
  expect(await put({ verifier })).toBe('header.x-github-event')
  expect(await put({ verifier: { preset: 'shopify', secret: 's' } })).toBe('header.x-shopify-topic')
  expect(await put({ verifier, eventTypeField: null })).toBeNull()
  expect(await put({ verifier: { type: 'none' } })).toBeNull()
})

test('the keys that a preset suggests are not applied', async () => {
  const { body } = await post('suggested', { preset: 'github', secret: 's' })
  expect(body.idempotencyKeys).toEqual([])
})

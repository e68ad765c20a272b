import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { ROUTES } from '../../api/routes.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

type Kind = 'sources' | 'destinations'

const WHOLE: Record<Kind, object> = {
  sources: {},
  destinations: { url: 'https://shop.example.com/hook' },
}

let count = 0

/** Each way of saving the members, with where the body has them. */
const WAYS: [way: string, part: string, save: (kind: Kind, members: object) => Promise<Answer>][] =
  [
    [
      'POST',
      'body',
      async (kind, members) =>
        await world.api('POST', `/v1/${kind}`, { name: `n${++count}`, ...WHOLE[kind], ...members }),
    ],
    [
      'PATCH',
      'body.data',
      async (kind, members) => {
        const name = `n${++count}`
        const made = await world.api('POST', `/v1/${kind}`, { name, ...WHOLE[kind] })
        return await world.api('PATCH', `/v1/${kind}/${made.body.id}`, { data: members })
      },
    ],
    [
      'PUT by name',
      'body',
      async (kind, members) =>
        await world.api('PUT', `/v1/${kind}/by-name/n${++count}`, { ...WHOLE[kind], ...members }),
    ],
  ]

type Answer = Awaited<ReturnType<World['api']>>

const oauth2 = {
  type: 'oauth2ClientCredentials',
  tokenUrl: 'https://id.example.com/token',
  clientId: 'me',
  clientSecret: 's',
}

/** Members that can never work, with the path of the one that is at fault. */
const REFUSED: [kind: Kind, members: object, path: string][] = [
  ['destinations', { url: 'shop.example.com/hook' }, 'url'],
  ['destinations', { url: 'http:shop.example.com' }, 'url'],
  ['destinations', { url: 'ftp://shop.example.com' }, 'url'],
  ['destinations', { url: ' https://shop.example.com' }, 'url'],
  ['destinations', { url: 'https://shop.example.com/a b' }, 'url'],
  ['destinations', { url: 'https://shop.example.com/\n' }, 'url'],
  ['destinations', { url: 'https://shop.ex\tample.com/' }, 'url'],
  ['destinations', { url: 'https://me:secret@shop.example.com/' }, 'url'],
  ['destinations', { url: 'https://me@shop.example.com/' }, 'url'],
  ['destinations', { url: 'https://shop.example.com:0/' }, 'url'],
  ['destinations', { url: 'https://shop..example.com/' }, 'url'],
  ['destinations', { url: 'https://*.example.com/' }, 'url'],
  ['destinations', { url: `https://${'a'.repeat(64)}.example.com/` }, 'url'],
  ['destinations', { url: `https://shop.example.com/${'é'.repeat(400)}` }, 'url'],
  ['destinations', { headers: { 'a b': 'c' } }, 'headers.a b'],
  ['destinations', { headers: { 'x-a': 'b\n' } }, 'headers.x-a'],
  ['destinations', { headers: { 'x-a': '日本' } }, 'headers.x-a'],
  ['destinations', { headers: { 'x-a': ' b' } }, 'headers.x-a'],
  ['destinations', { headers: { 'x-a': 'b\t' } }, 'headers.x-a'],
  ['destinations', { headers: { 'X-A': 'b', 'x-a': 'c' } }, 'headers'],
  ['destinations', { headers: { host: 'b' } }, 'headers.host'],
  ['destinations', { auth: { type: 'bearer', token: 'tok\n' } }, 'auth.token'],
  ['destinations', { auth: { type: 'bearer', token: ' tok' } }, 'auth.token'],
  ['destinations', { auth: { type: 'bearer', token: 'tök-日本' } }, 'auth.token'],
  ['destinations', { auth: { type: 'bearer', token: '' } }, 'auth.token'],
  ['destinations', { auth: { type: 'basic', username: 'a:b', password: 'c' } }, 'auth.username'],
  ['destinations', { auth: { type: 'basic', username: 'a\n', password: 'c' } }, 'auth.username'],
  ['destinations', { auth: { type: 'basic', username: 'a', password: 'c\r' } }, 'auth.password'],
  ['destinations', { auth: { ...oauth2, clientId: 'a\n' } }, 'auth.clientId'],
  ['destinations', { auth: { ...oauth2, clientSecret: 'a\u007f' } }, 'auth.clientSecret'],
  ['destinations', { auth: { ...oauth2, scope: 'a  b' } }, 'auth.scope'],
  ['destinations', { auth: { ...oauth2, scope: 'ä' } }, 'auth.scope'],
  ['destinations', { auth: { ...oauth2, tokenUrl: 'id.example.com' } }, 'auth.tokenUrl'],
  ['destinations', { auth: { ...oauth2, tokenUrl: 'https://a:b@c/' } }, 'auth.tokenUrl'],
  ['destinations', { rateLimit: 0 }, 'rateLimit'],
  ['destinations', { maxConcurrency: 0 }, 'maxConcurrency'],
  ['destinations', { retryPolicy: { retryOn: ['503', '200'] } }, 'retryPolicy.retryOn.1'],
  ['destinations', { retryPolicy: { retryOn: ['2xx'] } }, 'retryPolicy.retryOn.0'],
  ['destinations', { retryPolicy: { retryOn: ['1xx'] } }, 'retryPolicy.retryOn.0'],
  ['destinations', { retryPolicy: { retryOn: ['410'] } }, 'retryPolicy.retryOn.0'],
  ['destinations', { retryPolicy: { retryOn: ['tiemout'] } }, 'retryPolicy.retryOn.0'],
  ['destinations', { retryPolicy: { maxAttempts: 0 } }, 'retryPolicy.maxAttempts'],
  ['destinations', { retryPolicy: { scheduleSeconds: [] } }, 'retryPolicy.scheduleSeconds'],
  [
    'destinations',
    { retryPolicy: { strategy: 'linear', initialDelaySeconds: 9, maxDelaySeconds: 8 } },
    'retryPolicy.maxDelaySeconds',
  ],
  ['destinations', { metadata: JSON.parse('{"__proto__":"x"}') }, 'metadata.__proto__'],
  ['destinations', { headers: JSON.parse('{"__proto__":"x"}') }, 'headers.__proto__'],
  ['destinations', JSON.parse('{"__proto__":{"url":"x"}}'), '__proto__'],
  ['sources', { metadata: JSON.parse('{"__proto__":"x"}') }, 'metadata.__proto__'],
  ['sources', { eventTypeField: 'header.a b' }, 'eventTypeField'],
  ['sources', { eventTypeField: 'header.' }, 'eventTypeField'],
  ['sources', { eventTypeField: 'body..a' }, 'eventTypeField'],
  ['sources', { idempotencyKeys: ['body.id', 'body.id'] }, 'idempotencyKeys.1'],
  ['sources', { idempotencyKeys: ['header.X-Id', 'body.a', 'header.x-id'] }, 'idempotencyKeys.2'],
  [
    'sources',
    { ingestResponse: { kind: 'static', contentType: 'text/ html' } },
    'ingestResponse.contentType',
  ],
  [
    'sources',
    { ingestResponse: { kind: 'static', contentType: 'text/html;' } },
    'ingestResponse.contentType',
  ],
  [
    'sources',
    { ingestResponse: { kind: 'static', contentType: 'text/plain; charset=latin1' } },
    'ingestResponse.contentType',
  ],
]

test.for(REFUSED)('%s with %j is refused with one fault at %s', async ([kind, members, path]) => {
  for (const [way, part, save] of WAYS) {
    const { status, body } = await save(kind, members)
    expect(status, way).toBe(400)
    expect(
      body.data.fields.map((field: { path: string }) => field.path),
      way,
    ).toEqual([`${part}.${path}`])
  }
})

const NAMES: [name: string, shown: string | undefined][] = [
  ['', undefined],
  [' ', undefined],
  ['\u200b', undefined],
  ['\u3164', undefined],
  [' shop', undefined],
  ['shop\u00a0', undefined],
  ['shop\n', undefined],
  ['sh\u0007op', undefined],
  ['sh\u2028op', undefined],
  ['x'.repeat(101), undefined],
  ['Zoe\u0308', 'Zo\u00eb'],
  ['my shop', 'my shop'],
  ['店 👩‍👩‍👧', '店 👩‍👩‍👧'],
]

test.for(NAMES)('a resource that is named %j is kept as %j', async ([name, shown]) => {
  for (const kind of ['projects', 'sources', 'destinations'] as const) {
    const whole = kind === 'projects' ? {} : WHOLE[kind]
    const made = await world.api('POST', `/v1/${kind}`, { name, ...whole })
    expect(made.status, kind).toBe(shown === undefined ? 400 : 201)
    expect(made.body.name, kind).toBe(shown)
    const faults = (made.body.data?.fields ?? []).map(({ path }: { path: string }) => path)
    expect(faults, kind).toEqual(shown === undefined ? ['body.name'] : [])
    const other = await world.api('POST', `/v1/${kind}`, { name: `m${++count}`, ...whole })
    const renamed = await world.api('PATCH', `/v1/${kind}/${other.body.id}`, { data: { name } })
    expect(renamed.status, kind).toBe(shown === undefined ? 400 : 409)
    const path = `/v1/${kind}/by-name/${encodeURIComponent(name)}`
    const upserted = name === '' ? undefined : await world.api('PUT', path, whole)
    expect(upserted?.status ?? 400, kind).toBe(shown === undefined ? 400 : 200)
  }
})

test.for<[given: string, sent: string]>([
  ['https://shop.example.com', 'https://shop.example.com/'],
  ['HTTPS://Shop.Example.COM:443/A/../b?x=1#top', 'https://shop.example.com/b?x=1'],
  ['https://bücher.example/ä?ö=ü', 'https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC'],
  ['https://shop.example.com/?', 'https://shop.example.com/'],
  ['https://shop.example.com/%7Ea%2fb', 'https://shop.example.com/%7Ea%2fb'],
  ['http://[2001:DB8::1]:8080/', 'http://[2001:db8::1]:8080/'],
  ['http://2130706433/', 'http://127.0.0.1/'],
])('a destination at %s is shown at %s, where its deliveries go', async ([url, sent]) => {
  for (const [way, , save] of WAYS) {
    expect((await save('destinations', { url })).body.url, way).toBe(sent)
  }
})

interface Kept {
  members: object
  change: object
  demanded: string[]
}

const basic = { type: 'basic', username: 'a', password: 'b' }
const bearer = { type: 'bearer', token: 't' }
const other = 'https://other.example.com/hook'

test.for<Kept>([
  {
    members: { headers: { 'X-A': 'b', 'X-C': 'd' } },
    change: { url: other },
    demanded: ['headers.X-A', 'headers.X-C'],
  },
  {
    members: { headers: { 'X-A': 'b', 'X-C': 'd' } },
    change: { url: other, headers: { 'X-A': '***', 'X-C': 'd' } },
    demanded: ['headers.X-A'],
  },
  { members: { auth: bearer }, change: { url: other }, demanded: ['auth.token'] },
  {
    members: { auth: bearer },
    change: { url: other, auth: { type: 'bearer' } },
    demanded: ['auth.token'],
  },
  { members: { auth: basic }, change: { url: other }, demanded: ['auth.password'] },
  {
    members: { auth: basic, headers: { a: 'b' } },
    change: { url: 'http://shop.example.com/hook' },
    demanded: ['headers.a', 'auth.password'],
  },
  { members: { auth: oauth2 }, change: { url: other }, demanded: ['auth.clientSecret'] },
  {
    members: { auth: oauth2 },
    change: {
      auth: { ...oauth2, clientSecret: undefined, tokenUrl: 'https://id.example.com/other' },
    },
    demanded: ['auth.clientSecret'],
  },
  { members: { auth: basic }, change: { auth: { type: 'bearer' } }, demanded: ['auth.token'] },
  {
    members: { auth: bearer },
    change: { auth: { type: 'basic', username: 'a' } },
    demanded: ['auth.password'],
  },
  { members: { auth: bearer }, change: { url: 'https://shop.example.com/other' }, demanded: [] },
  { members: { auth: bearer }, change: { url: other, auth: bearer }, demanded: [] },
  { members: { auth: bearer }, change: { url: other, auth: null }, demanded: [] },
  { members: { auth: basic }, change: { auth: { type: 'basic', username: 'c' } }, demanded: [] },
  { members: { headers: { a: 'b' } }, change: { url: other, headers: {} }, demanded: [] },
  { members: { headers: { a: 'b' } }, change: { url: other, headers: { a: 'c' } }, demanded: [] },
])(
  'a destination with $members demands $demanded for $change',
  async ({ members, change, demanded }) => {
    const name = `n${++count}`
    const given = { name, ...WHOLE.destinations, ...members }
    const { id } = (await world.api('POST', '/v1/destinations', given)).body
    const answer = await world.api('PATCH', `/v1/destinations/${id}`, { data: change })
    expect(answer.status).toBe(demanded.length === 0 ? 200 : 400)
    const paths = (answer.body.data?.fields ?? []).map(({ path }: { path: string }) => path)
    expect(paths).toEqual(demanded.map((path) => `body.data.${path}`))
  },
)

test('by its name too, a destination that moves keeps no secret that is not given again', async () => {
  const path = `/v1/destinations/by-name/n${++count}`
  await world.api('PUT', path, { ...WHOLE.destinations, headers: { a: 'b' }, auth: bearer })
  const moved = { url: other, headers: { a: '***' }, auth: { type: 'bearer' } }
  const answer = await world.api('PUT', path, moved)
  expect(answer.body.data.fields).toMatchObject([
    { path: 'body.headers.a' },
    { path: 'body.auth.token' },
  ])
})

function shows(schema: z.ZodType): boolean {
  return schema instanceof z.ZodObject && schema.shape['secret'] instanceof z.ZodString
}

test('an answer that shows a secret is not cached on its way', () => {
  const showing = ROUTES.filter(({ responses }) =>
    Object.values(responses).some((schema) => schema !== null && shows(schema)),
  )
  expect(showing.map(({ operationId }) => operationId).toSorted()).toEqual([
    'getSigningSecret',
    'rotateSigningSecret',
    'rotateSourceSecret',
  ])
  for (const route of showing) expect(route.isSecret, route.operationId).toBe(true)
})

test('a rotated secret is answered with no-store', async () => {
  const verifier = { preset: 'github', secret: 'x'.repeat(32) }
  const { id } = (await world.api('POST', '/v1/sources', { name: `n${++count}`, verifier })).body
  const answer = await world.api('POST', `/v1/sources/${id}/rotate-secret`, {})
  expect(answer.headers.get('cache-control')).toBe('no-store')
})

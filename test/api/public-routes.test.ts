import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { buildApp } from '../../api/app.ts'
import { publicRoute } from '../../api/http/route.ts'
import { startWorld, type World } from '../kit/world.ts'

const Said = z.object({ remoteIp: z.string(), agent: z.string(), text: z.string() })

/** A route that anybody may call, and that says who did. */
const greet = publicRoute({
  method: 'POST',
  path: '/greetings/:id',
  operationId: 'greet',
  tag: 'Projects',
  summary: 'Greet',
  permission: 'public',
  params: { id: 'prj' },
  query: z.strictObject({}),
  headers: { 'user-agent': 'Who greets.' },
  body: z.strictObject({ text: z.string().describe('The greeting.') }).meta({
    id: 'Greeting',
    description: 'A greeting.',
    examples: [{ text: 'Hello' }],
  }),
  responses: { 200: Said.meta({ id: 'Said', description: 'The text that was heard.' }) },
  errors: [],
  async handle({ remoteIp, headers, body }) {
    const agent = headers['user-agent'] ?? ''
    return await Promise.resolve({
      status: 200 as const,
      body: { remoteIp, agent, text: body.text },
    })
  },
})

const ID = `prj_${'0'.repeat(26)}`

function open(world: World, trustedProxies: string[] = []) {
  const deps = { ...world.deps, registry: new Registry(), trustedProxies }
  return buildApp(deps, [greet])
}

function request(id: string, payload: object, headers: Record<string, string> = {}) {
  const sent = { 'user-agent': 'guest', 'x-forwarded-for': '203.0.113.9', ...headers }
  return { method: 'POST' as const, url: `/v1/greetings/${id}`, payload, headers: sent }
}

test('a public route answers without a key, and knows the address and the headers that it names', async () => {
  await using world = await startWorld()
  await using app = open(world)
  const answer = await app.inject(request(ID, { text: 'Hello' }))
  expect(answer.json()).toEqual({ remoteIp: '127.0.0.1', agent: 'guest', text: 'Hello' })

  await using behind = open(world, ['127.0.0.1'])
  const forwarded = await behind.inject(request(ID, { text: 'Hello' }))
  expect(forwarded.json()).toMatchObject({ remoteIp: '203.0.113.9' })
})

test('a public route says nothing of the window of a key, whatever it answers', async () => {
  await using world = await startWorld()
  await using app = open(world)
  const answers = [
    await app.inject(request(ID, { text: 'Hello' })),
    await app.inject(request(ID, { text: 'Hello' }, { authorization: `Bearer ${world.key}` })),
    await app.inject(request(ID, { text: 1 })),
    await app.inject(request('prj_nobody', { text: 'Hello' })),
  ]
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 400, 404])
  for (const { headers } of answers) {
    expect(headers['x-request-id']).toBeDefined()
    expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
  }
})

test('the OpenAPI document says that a public route needs no key', async () => {
  await using world = await startWorld()
  await using app = open(world)
  const document = (await app.inject('/openapi.json')).json()
  const operation = document.paths['/v1/greetings/{id}'].post
  expect(operation).toMatchObject({ security: [], 'x-permission': 'public' })
  expect(Object.keys(operation.responses)).toEqual(['200', '400', '404', '500', '503'])
  expect(operation.parameters.map(({ name }: { name?: string }) => name)).toEqual([
    'id',
    'user-agent',
  ])
  const { $ref } = operation.responses[400]
  expect($ref).toBe('#/components/responses/PublicBadRequest')
  expect(Object.keys(document.components.responses.PublicBadRequest.headers)).toEqual([
    'X-Request-Id',
  ])
})

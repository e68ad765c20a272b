import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { buildApp } from '../../api/app.ts'
import type { Route } from '../../api/http/route.ts'
import { watchLoop } from '../../core/loop/watch.ts'
import { eventually } from '../kit/relay.ts'
import { startWorld } from '../kit/world.ts'

test('a route that holds the loop is named in the metrics', async () => {
  await using world = await startWorld()
  const registry = new Registry()
  using _watch = watchLoop({ registry, log: world.deps.log })
  const route: Route = {
    method: 'GET',
    path: '/slow',
    operationId: 'slow',
    tag: 'Sources',
    summary: 'Slow',
    permission: 'any_key',
    scope: 'reach',
    params: {},
    query: z.strictObject({}),
    body: null,
    responses: { 200: z.string() },
    errors: [],
    async handle() {
      const until = performance.now() + 300
      while (performance.now() < until);
      return await Promise.resolve({ status: 200, body: 'slow' })
    },
  }
  await using app = buildApp({ ...world.deps, registry: new Registry() }, [route])
  const headers = { authorization: `Bearer ${world.key}` }
  expect((await app.inject({ url: '/v1/slow', headers })).statusCode).toBe(200)
  await eventually(async () => {
    expect(await registry.metrics()).toContain(
      'postern_event_loop_stalls_total{part="GET /slow"} 1',
    )
  })
})

import { beforeAll, expect, inject, test } from 'vitest'

import { accept, call, openTenant, type Tenant } from './tenant.ts'

const { ingestUrl } = inject('installation')

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

test('versioning 1: "the management API path prefix is /v1; every management endpoint lives under it"', async () => {
  const { paths } = await tenant.get('/v1/openapi.json')
  expect(Object.keys(paths).length).toBeGreaterThan(30)
  expect(Object.keys(paths).filter((path) => !path.startsWith('/v1/'))).toEqual([])
  for (const path of ['/events', '/v2/events', '/sources']) {
    expect(await call('GET', path, undefined, tenant), path).toMatchObject({ status: 404 })
  }
  expect((await fetch(`${ingestUrl}/v1/events`)).status).toBe(404)
})

test.each(['duplicate', 'pending'])(
  'versioning 2: the legacy status %s is "still accepted as a filter value", no longer written',
  async (status) => {
    await accept(await tenant.make('sources'))
    const answer = await tenant.api('GET', `/v1/events?status=${status}`)
    expect(answer).toMatchObject({ status: 200, body: { data: [], nextCursor: null } })
  },
)

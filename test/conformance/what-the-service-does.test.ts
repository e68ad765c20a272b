import { beforeAll, expect, inject, test } from 'vitest'

import { says } from '../kit/endpoint.ts'
import { SIGNED } from './signature.ts'
import { accept, eventually, openEndpoint, openTenant, send, type Tenant } from './tenant.ts'

let tenant: Tenant
beforeAll(async () => {
  tenant = await openTenant()
})

test('the service, line 1: "each source has its own mask id" below the ingest URL', async () => {
  const [one, two] = [await tenant.make('sources'), await tenant.make('sources')]
  expect(one.ingestUrl).toBe(`${inject('installation').ingestUrl}/${one.maskId}`)
  expect(one.maskId).not.toBe(two.maskId)
  const event = await tenant.get(`/v1/events/${await accept(two, { body: 'x' })}`)
  expect(event.sourceId).toBe(two.id)
})

test('the service, line 2: "every inbound request is stored as an event": body, headers, payload', async () => {
  const source = await tenant.make('sources')
  const headers = { 'content-type': 'application/json', 'x-provider': 'Acme' }
  const id = await accept(source, { headers, body: '{"a": 1}' })
  const event = await tenant.get(`/v1/events/${id}`)
  expect(event).toMatchObject({ raw: '{"a": 1}', payload: { a: 1 } })
  const names = event.headers.map(([name, value]: [string, string]) => [name.toLowerCase(), value])
  expect(names).toContainEqual(['x-provider', 'Acme'])
})

test('the service, line 2: "rejected requests are stored too"', async () => {
  const source = await tenant.make('sources', SIGNED)
  expect(await send(source, { body: 'forged' })).toMatchObject({ status: 401 })
  const { data } = await tenant.get(`/v1/events?sourceId=${source.id}`)
  expect(data).toMatchObject([{ status: 'rejected' }])
  expect(await tenant.get(`/v1/events/${data[0].id}`)).toMatchObject({ raw: 'forged' })
})

test('the service, line 3: "the event is stored first", whatever becomes of its delivery', async () => {
  const { source } = await tenant.route({
    respond: says(500),
    destination: { retryPolicy: { strategy: 'linear', initialDelaySeconds: 1, maxAttempts: 1 } },
  })
  const id = await accept(source, { body: 'kept' })
  expect(await tenant.get(`/v1/events/${id}`)).toMatchObject({ status: 'received', raw: 'kept' })
  await tenant.reaches(id, { status: 'failed', lastAttempt: { responseStatus: 500 } })
  const { phases } = await tenant.get(`/v1/events/${id}/timeline`)
  const names = phases.map(({ name }: { name: string }) => name)
  expect(names).toEqual(['received', 'verified', 'stored', 'matched', 'dispatched'])
})

test('the service, line 4: "a delivery is one event routed to one connection"', async () => {
  const { source, connection, destination, endpoint } = await tenant.route()
  const other = await openEndpoint()
  const second = await tenant.make('destinations', { url: other.url })
  const to = await tenant.connect(source, second)
  const id = await accept(source, { body: 'routed' })
  await eventually(() => {
    expect([endpoint, other].map(({ arrivals }) => arrivals.length)).toEqual([1, 1])
  })
  expect(endpoint.arrivals[0]?.body.toString()).toBe('routed')
  const { deliveries } = await tenant.get(`/v1/events/${id}`)
  expect(deliveries).toHaveLength(2)
  expect(deliveries).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ connectionId: connection.id, destinationId: destination.id }),
      expect.objectContaining({ connectionId: to.id, destinationId: second.id }),
    ]),
  )
})

const KINDS: [kind: string, fields: object, change: object][] = [
  ['sources', {}, { maxPayloadSizeKb: 9 }],
  ['destinations', { url: 'https://example.com/hook' }, { timeoutMs: 2_000 }],
  ['connections', {}, { filter: { eventTypes: ['a'] } }],
  ['projects', {}, { metadata: { a: 'b' } }],
  ['connectors', {}, { allowedHosts: ['billing.internal'] }],
]

test.each(KINDS)(
  'the service, line 5: the management API manages %s',
  async (kind, fields, change) => {
    const ends =
      kind === 'connections'
        ? {
            sourceId: (await tenant.make('sources')).id,
            destinationId: (await tenant.make('destinations', { url: 'https://example.com' })).id,
          }
        : {}
    const made = await tenant.make(kind, { ...fields, ...ends })
    const { enrollmentKey: _, ...shown } = made
    const found = await eventually(async () => {
      const seen = await tenant.get(`/v1/${kind}/${made.id}`)
      expect(seen.provisionedAt).not.toBeNull()
      return seen
    })
    expect({ ...shown, provisionedAt: null }).toMatchObject({ ...found, provisionedAt: null })
    expect(await tenant.patch(`/v1/${kind}/${made.id}`, change)).toMatchObject(change)
    const { data } = await tenant.get(`/v1/${kind}?limit=100`)
    expect(data).toContainEqual(expect.objectContaining({ id: made.id }))
    expect(await tenant.api('DELETE', `/v1/${kind}/${made.id}`)).toMatchObject({ status: 204 })
    expect(await tenant.api('GET', `/v1/${kind}/${made.id}`)).toMatchObject({ status: 404 })
  },
)

test('the service, line 6: "resources belong to an organisation", most to a project inside it', async () => {
  const source = await tenant.make('sources')
  expect(source.projectId).toBe(tenant.projectId)
  expect(await tenant.get(`/v1/projects/${tenant.projectId}`)).toMatchObject({
    organisationId: tenant.organisationId,
  })
})

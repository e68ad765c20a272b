import { expect, test } from 'vitest'

import { startApiServer } from '../runtime/api-server.fixture.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import { Store } from '../runtime/watch/store.ts'
import { SecretReader } from './secret-reader.ts'

const SECRETS = '/api/v1/namespaces/shop/secrets'
const place = {
  namespace: 'shop',
  name: 'key',
  member: 'spec.apiKeySecretRef',
  use: 'relay',
} as const

async function open(labels?: Record<string, string>) {
  const server = await startApiServer()
  const data = { key: Buffer.from('pst_1').toString('base64') }
  const secret = server.put(SECRETS, {
    metadata: { name: 'key', namespace: 'shop', ...(labels && { labels }) },
    data,
  })
  const known = new Store<KubeObject>()
  known.put(secret)
  return { server, reader: new SecretReader(server.client, known) }
}

test.for(['relay', 'source.relay'])('a Relay may name a Secret for %s', async (use) => {
  const { server, reader } = await open({ 'postern.dev/use': use })
  await using _server = server
  expect(await reader.value(place, 'key')).toMatchObject({ kind: 'found', value: 'pst_1' })
})

test.for<Record<string, string> | undefined>([
  { 'postern.dev/use': 'source' },
  { 'postern.dev/use': 'relays' },
  { 'postern.dev/use': '' },
  undefined,
])('a Secret with the labels %j does not exist for a Relay, and is not read', async (labels) => {
  const { server, reader } = await open(labels)
  await using _server = server
  expect(await reader.value(place, 'key')).toMatchObject({
    kind: 'missing',
    message: expect.stringContaining('kubectl label secret key postern.dev/use=relay'),
  })
  expect(server.asked).toEqual([])
})

test('a Secret that lost its label since it was seen is not read', async () => {
  const { server, reader } = await open({ 'postern.dev/use': 'relay' })
  await using _server = server
  server.put(SECRETS, { metadata: { name: 'key', namespace: 'shop' }, data: { key: 'cHN0XzI=' } })
  expect(await reader.value(place, 'key')).toMatchObject({ kind: 'missing' })
})

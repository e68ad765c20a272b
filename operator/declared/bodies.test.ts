import { expect, test } from 'vitest'

import { startApiServer } from '../runtime/api-server.fixture.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import { Store } from '../runtime/watch/store.ts'
import type { Deps } from '../world/deps.ts'
import { SecretReader } from '../world/secret-reader.ts'
import { destinationBody, sourceBody, type Read } from './bodies.ts'

const SECRETS = '/api/v1/namespaces/shop/secrets'
const secretRef = { name: 'secret', key: 'key' }
const relayRef = { name: 'main' }
const spec = {
  sources: {
    relayRef,
    verifier: { preset: 'stripe', secretRef, keys: [{ secretRef }] },
    handshake: { verifyTokenSecretRef: secretRef },
  },
  destinations: {
    relayRef,
    url: 'https://shop.example.com/',
    headersFrom: [{ name: 'x-token', secretRef }],
    auth: { type: 'basic', username: 'shop', passwordSecretRef: secretRef },
  },
}

async function bodies(value: string, what: Read): Promise<string> {
  await using server = await startApiServer()
  const known = new Store<KubeObject>()
  const labels = { 'postern.dev/use': 'source.destination' }
  const metadata = { name: 'secret', namespace: 'shop', uid: 'u', labels }
  known.put(server.put(SECRETS, { metadata, data: { key: Buffer.from(value).toString('base64') } }))
  const secrets = new SecretReader(server.client, known)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- bodies read Secrets and names alone
  const deps = { secrets, world: {} } as Deps
  const of = (name: string, declared: object): KubeObject => ({
    metadata: { name, namespace: 'shop' },
    spec: declared,
  })
  return JSON.stringify([
    await sourceBody(deps, of('source', spec.sources), what),
    await destinationBody(deps, of('destination', spec.destinations), what),
  ])
}

test('a body has the values of Secrets, and its marks are the same whatever they are', async () => {
  expect((await bodies('hunter2', 'value')).split('hunter2')).toHaveLength(6)
  const marked = await bodies('hunter2', 'mark')
  expect(marked).not.toContain('hunter2')
  expect(marked).toBe(await bodies('letmein', 'mark'))
})

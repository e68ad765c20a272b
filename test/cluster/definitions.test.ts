import { readFileSync } from 'node:fs'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'

import { openCluster, type Answer, type Cluster } from './cluster.ts'

/** The API server's own judgement of our kinds: no operator runs here. */
const NAMESPACE = 'definitions'
const GROUP = '/apis/postern.dev/v1alpha1'
const PROJECT = 'prj_01h455vb4pex5vsknk084sn02q'
const OTHER_PROJECT = 'prj_01h455vb4pex5vsknk084sn02r'
const CONNECTOR = 'cnr_01h455vb4pex5vsknk084sn02q'
const OTHER_CONNECTOR = 'cnr_01h455vb4pex5vsknk084sn02r'

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster(inject('clusterDir'))
  await cluster.request('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
})
afterAll(async () => await cluster.request('DELETE', `/api/v1/namespaces/${NAMESPACE}`))

const pathOf = (plural: string, name = ''): string =>
  `${GROUP}/namespaces/${NAMESPACE}/${plural}${name === '' ? '' : `/${name}`}`

const KIND: Record<string, string> = {
  relays: 'Relay',
  connectors: 'Connector',
  sources: 'Source',
  destinations: 'Destination',
  connections: 'Connection',
}

const objectOf = (plural: string, name: string, spec: object): object => ({
  apiVersion: 'postern.dev/v1alpha1',
  kind: KIND[plural],
  metadata: { name },
  spec,
})

async function create(plural: string, name: string, spec: object, query = ''): Promise<Answer> {
  return await cluster.request('POST', `${pathOf(plural)}${query}`, objectOf(plural, name, spec))
}

/** The words of the refusal; empty when the API server takes it. */
async function refusal(asked: Promise<unknown>): Promise<string> {
  return await asked.then(() => '', String)
}

const relayRef = { name: 'main' }
const secretRef = { name: 'secret', key: 'key' }
const variable = (valueFrom: object, value?: string): object => ({
  name: 'POSTERN_PROXY',
  valueFrom,
  ...(value !== undefined && { value }),
})
const relay = { baseUrl: 'https://relay.example.com', apiKeySecretRef: secretRef }
const connector = { relayRef }
const destination = { relayRef, url: 'https://shop.example.com/hooks' }
const connection = { relayRef, sourceRef: { name: 's' }, destinationRef: { name: 'd' } }

test.each<[plural: string, spec: object]>([
  ['relays', relay],
  ['relays', { ...relay, caSecretRef: secretRef }],
  ['connectors', connector],
  ['connectors', { ...connector, projectId: PROJECT, connectorId: CONNECTOR, replicas: 0 }],
  ['connectors', { ...connector, allow: [{ cidrs: ['10.0.0.0/8'], ports: [1, 65_535] }] }],
  ['connectors', { ...connector, enrollment: { rotateAfter: '720h30m' } }],
  ['connectors', { ...connector, template: { resources: { limits: { cpu: 1, memory: '1Gi' } } } }],
  ['sources', { relayRef }],
  ['connectors', { ...connector, template: { env: [{ name: 'NO_PROXY' }] } }],
  ['connectors', { ...connector, template: { env: [variable({ secretKeyRef: secretRef })] } }],
  ['connectors', { ...connector, template: { env: [variable({ configMapKeyRef: secretRef })] } }],
  ['connectors', { ...connector, networkPolicy: { enabled: false }, podDisruptionBudget: {} }],
  ['sources', { relayRef, verifier: { preset: 'stripe', secretRef, any: { depth: [1] } } }],
  ['sources', { relayRef, verifier: { type: 'all_of', verifiers: [{ preset: 'x', secretRef }] } }],
  ['destinations', destination],
  ['destinations', { ...destination, mode: 'private', connectorRef: { name: 'c' } }],
  ['destinations', { ...destination, mode: 'private', connectorId: CONNECTOR }],
  ['destinations', { ...destination, url: 'http://[fd00::1]:8080' }],
  ['destinations', { ...destination, url: 'https://shop.example.com:8443/@team?to=a@b.test#c' }],
  ['destinations', { ...destination, url: 'http://billing?user=a@b.test' }],
  ['destinations', { ...destination, rateLimit: 5 }],
  ['destinations', { ...destination, rateLimit: 5, rateLimitPeriod: 'minute' }],
  ['destinations', { ...destination, auth: { type: 'none' } }],
  [
    'destinations',
    { ...destination, auth: { type: 'basic', username: 'u', passwordSecretRef: secretRef } },
  ],
  ['destinations', { ...destination, auth: { type: 'bearer', tokenSecretRef: secretRef } }],
  ['connections', connection],
  ['connections', { relayRef, sourceId: 'src_1', destinationId: 'dst_1' }],
])('%s: %j is taken', async (plural, spec) => {
  expect(await refusal(create(plural, 'taken', spec, '?dryRun=All'))).toBe('')
})

const Declared = z.object({
  apiVersion: z.literal('postern.dev/v1alpha1'),
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z.looseObject({}),
})

test('the objects that docs/kubernetes/install.md declares for another cluster are taken', async () => {
  const text = readFileSync('docs/kubernetes/install.md', 'utf8').replaceAll(/^ {3}/gm, '')
  const [, file = ''] = /```yaml\n# billing\.yaml\n(.*?)```/s.exec(text) ?? []
  const declared = parseAllDocuments(file).map((one) => Declared.parse(one.toJS()))
  expect(declared.map(({ kind }) => kind).toSorted()).toEqual(Object.values(KIND).toSorted())
  for (const { kind, metadata, spec } of declared) {
    const [plural = ''] = Object.entries(KIND).find(([, one]) => one === kind) ?? []
    const query = '?dryRun=All&fieldValidation=Strict'
    expect(await refusal(create(plural, metadata.name, spec, query)), kind).toBe('')
  }
})

test.each<[plural: string, spec: object, named: string]>([
  ['relays', {}, 'spec.baseUrl: Required'],
  ['relays', { ...relay, baseUrl: 'relay.example.com' }, 'spec.baseUrl'],
  ['relays', { ...relay, baseUrl: 'https://relay.example.com/path' }, 'spec.baseUrl'],
  ['relays', { ...relay, baseUrl: 'https://user@relay.example.com' }, 'spec.baseUrl'],
  ['relays', { ...relay, apiKeySecretRef: { name: 'secret' } }, 'spec.apiKeySecretRef.key'],
  ['relays', { ...relay, caBundle: 'x', caSecretRef: secretRef }, 'exclude each other'],
  ['connectors', {}, 'spec.relayRef: Required'],
  ['connectors', { relayRef: { name: '' } }, 'spec.relayRef.name'],
  ['connectors', { ...connector, replicas: -1 }, 'spec.replicas'],
  ['connectors', { ...connector, replicas: 51 }, 'spec.replicas'],
  ['connectors', { ...connector, replicas: 1.5 }, 'spec.replicas'],
  ['connectors', { ...connector, projectId: 'prj_x' }, 'spec.projectId'],
  ['connectors', { ...connector, connectorId: 'src_x' }, 'spec.connectorId'],
  ['connectors', { ...connector, displayName: ' x' }, 'spec.displayName'],
  ['connectors', { ...connector, displayName: 'x'.repeat(101) }, 'spec.displayName'],
  ['connectors', { ...connector, deletionPolicy: 'Orphan' }, 'spec.deletionPolicy'],
  ['connectors', { ...connector, enrollment: { rotateAfter: '1d' } }, 'rotateAfter'],
  ['connectors', { ...connector, allow: [{}] }, 'either hosts or cidrs'],
  [
    'connectors',
    { ...connector, allow: [{ hosts: ['a'], cidrs: ['10.0.0.0/8'] }] },
    'either hosts',
  ],
  ['connectors', { ...connector, allow: [{ hosts: [] }] }, 'spec.allow[0].hosts'],
  ['connectors', { ...connector, allow: [{ hosts: ['a'], ports: [0] }] }, 'ports'],
  ['connectors', { ...connector, allow: [{ hosts: ['a'], ports: [65_536] }] }, 'ports'],
  ['connectors', { ...connector, allow: [{ hosts: ['a'], schemes: ['ftp'] }] }, 'schemes'],
  [
    'connectors',
    { ...connector, template: { terminationGracePeriodSeconds: 59 } },
    'terminationGracePeriodSeconds',
  ],
  [
    'connectors',
    { ...connector, template: { env: [variable({})] } },
    'spec.template.env[0].valueFrom: Invalid value: has either',
  ],
  [
    'connectors',
    { ...connector, template: { env: [variable({ secretKeyRef: secretRef }, 'x')] } },
    'value and valueFrom exclude each other',
  ],
  ['sources', {}, 'spec.relayRef: Required'],
  [
    'sources',
    { relayRef, verifier: { preset: 'stripe', secret: 'whsec_1' } },
    'spec.verifier: Invalid value: secret does not belong here',
  ],
  [
    'sources',
    { relayRef, verifier: { type: 'all_of', verifiers: [{ preset: 'x', secret: 'y' }] } },
    'spec.verifier.verifiers[0]: Invalid value: secret does not belong here',
  ],
  ['sources', { relayRef, allowedMethods: ['HEAD'] }, 'spec.allowedMethods'],
  ['sources', { relayRef, handshake: {} }, 'verifyTokenSecretRef'],
  ['destinations', { relayRef }, 'spec.url: Required'],
  ['destinations', { ...destination, url: 'ftp://a' }, 'spec.url'],
  ['destinations', { ...destination, url: 'https://' }, 'spec.url: Invalid'],
  ['destinations', { ...destination, url: 'https:///hooks' }, 'must have a host'],
  ['destinations', { ...destination, url: 'https://:8080/hooks' }, 'must have a host'],
  ['destinations', { ...destination, url: 'https://user:password@a.test/' }, 'name them in auth'],
  ['destinations', { ...destination, url: 'https://user@a.test?x' }, 'name them in auth'],
  [
    'destinations',
    { ...destination, rateLimitPeriod: 'minute' },
    'spec.rateLimitPeriod: Invalid value: rateLimitPeriod needs rateLimit',
  ],
  [
    'destinations',
    {
      ...destination,
      auth: {
        type: 'oauth2ClientCredentials',
        clientId: 'c',
        clientSecretRef: secretRef,
        tokenUrl: 'https://id:secret@a.test/token',
      },
    },
    'spec.auth.tokenUrl',
  ],
  ['destinations', { ...destination, mode: 'private' }, 'either connectorRef or connectorId'],
  ['destinations', { ...destination, connectorRef: { name: 'c' } }, 'a public one neither'],
  ['destinations', { ...destination, auth: { type: 'basic', username: 'u' } }, 'spec.auth'],
  [
    'destinations',
    { ...destination, auth: { type: 'basic', passwordSecretRef: secretRef } },
    'spec.auth',
  ],
  ['destinations', { ...destination, auth: { type: 'bearer' } }, 'spec.auth'],
  ['destinations', { ...destination, auth: { type: 'none', username: 'u' } }, 'spec.auth'],
  [
    'destinations',
    { ...destination, auth: { type: 'bearer', tokenSecretRef: secretRef, username: 'u' } },
    'spec.auth',
  ],
  [
    'destinations',
    { ...destination, auth: { type: 'bearer', tokenSecretRef: secretRef, clientId: 'c' } },
    'spec.auth',
  ],
  [
    'destinations',
    { ...destination, auth: { type: 'oauth2ClientCredentials', clientId: 'c' } },
    'spec.auth',
  ],
  ['connections', { relayRef, sourceRef: { name: 's' } }, 'destinationRef or destinationId'],
  ['connections', { ...connection, sourceId: 'src_1' }, 'either sourceRef or sourceId'],
  ['connections', { ...connection, destinationId: 'dst_1' }, 'destinationRef or destinationId'],
])('%s: %j is refused, and %s is named', async (plural, spec, named) => {
  expect(await refusal(create(plural, 'refused', spec, '?dryRun=All'))).toContain(named)
})

test.each(Object.keys(KIND))(
  '%s: an unknown member is refused where strictness is asked',
  async (plural) => {
    const spec = { relays: relay, connections: connection, destinations: destination }[plural]
    const asked = { relayRef, ...spec, suspended: true }
    const said = await refusal(
      create(plural, 'unknown', asked, '?dryRun=All&fieldValidation=Strict'),
    )
    expect(said).toContain('unknown field')
    expect(said).toContain('suspended')
  },
)

/** A spec, another one, and the words of the refusal; `null` takes a member away. */
test.each<[plural: string, before: object, after: object, named: string]>([
  ['connectors', connector, { relayRef: { name: 'other' } }, 'relayRef never changes'],
  ['connectors', connector, { projectId: PROJECT }, 'projectId never changes'],
  ['connectors', { ...connector, projectId: PROJECT }, { projectId: null }, 'projectId never'],
  ['connectors', { ...connector, projectId: PROJECT }, { projectId: OTHER_PROJECT }, 'projectId'],
  ['connectors', connector, { connectorId: CONNECTOR }, 'connectorId never changes'],
  ['connectors', { ...connector, connectorId: CONNECTOR }, { connectorId: null }, 'connectorId'],
  [
    'connectors',
    { ...connector, connectorId: CONNECTOR },
    { connectorId: OTHER_CONNECTOR },
    'connectorId never changes',
  ],
  ['sources', { relayRef }, { relayRef: { name: 'other' } }, 'relayRef never changes'],
  ['sources', { relayRef }, { projectId: PROJECT }, 'projectId never changes'],
  ['sources', { relayRef, projectId: PROJECT }, { projectId: null }, 'projectId never changes'],
  ['destinations', destination, { relayRef: { name: 'other' } }, 'relayRef never changes'],
  ['destinations', destination, { projectId: PROJECT }, 'projectId never changes'],
  ['destinations', { ...destination, projectId: PROJECT }, { projectId: null }, 'projectId'],
  ['connections', connection, { relayRef: { name: 'other' } }, 'relayRef never changes'],
  ['connections', connection, { projectId: PROJECT }, 'projectId never changes'],
  ['connections', { ...connection, projectId: PROJECT }, { projectId: null }, 'projectId never'],
])('%s: %j does not become %j', async (plural, before, after, named) => {
  await create(plural, 'fixed', before)
  try {
    const type = 'application/merge-patch+json'
    const patch = cluster.request('PATCH', pathOf(plural, 'fixed'), { spec: after }, type)
    expect(await refusal(patch)).toContain(named)
    const same = { spec: { suspend: true } }
    await cluster.request('PATCH', pathOf(plural, 'fixed'), same, type)
  } finally {
    await cluster.request('DELETE', pathOf(plural, 'fixed'))
  }
})

test('the status is written apart from the spec, and neither write touches the other', async () => {
  await create('connectors', 'parts', connector)
  const read = await cluster.request('GET', pathOf('connectors', 'parts'))
  const at = '2026-11-25T00:00:00Z'
  const words = { reason: 'Test', message: '', observedGeneration: 1, lastTransitionTime: at }
  const status = { conditions: [{ type: 'Ready', status: 'True', ...words }], connectorId: 'cnr_1' }
  const both = { ...read, spec: { ...read.spec, replicas: 9 }, status }
  const told = await cluster.request('PUT', `${pathOf('connectors', 'parts')}/status`, both)
  expect(told.spec.replicas).toBe(2)
  expect(told.metadata.generation).toBe(1)
  expect(told.status).toEqual(status)
  const changed = { ...told, spec: { ...told.spec, replicas: 3 }, status: {} }
  const after = await cluster.request('PUT', pathOf('connectors', 'parts'), changed)
  expect(after.status).toEqual(status)
  expect(after.metadata.generation).toBe(2)
  const bad = { ...after, status: { conditions: [{ type: 'Ready', status: 'Perhaps', ...words }] } }
  const asked = cluster.request('PUT', `${pathOf('connectors', 'parts')}/status`, bad)
  expect(await refusal(asked)).toContain('status.conditions[0].status')
})

test('an autoscaler reads and writes the replicas, within their bounds', async () => {
  await create('connectors', 'scaled', connector)
  const path = `${pathOf('connectors', 'scaled')}/scale`
  const type = 'application/merge-patch+json'
  const status = { replicas: 2, selector: 'app.kubernetes.io/instance=scaled-connector' }
  await cluster.request('PATCH', `${pathOf('connectors', 'scaled')}/status`, { status }, type)
  const scale = await cluster.request('GET', path)
  expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status })
  await cluster.request('PUT', path, { ...scale, spec: { replicas: 5 } })
  const { spec } = await cluster.request('GET', pathOf('connectors', 'scaled'))
  expect(spec.replicas).toBe(5)
  const beyond = cluster.request('PATCH', path, { spec: { replicas: 51 } }, type)
  expect(await refusal(beyond)).toContain('spec.replicas')
})

test('Connectors are found by their Relay and by their id, short and by category', async () => {
  const select = async (selector: string): Promise<string> =>
    await cluster.kubectl(
      '-n',
      NAMESPACE,
      'get',
      'pcon',
      '--field-selector',
      selector,
      '-o',
      'name',
    )
  await create('connectors', 'of-another', { relayRef: { name: 'another' } })
  expect(await select('spec.relayRef.name=another')).toBe('connector.postern.dev/of-another\n')
  expect(await select('status.connectorId=cnr_1')).toBe('connector.postern.dev/parts\n')
  for (const kind of ['postern', 'prelay', 'pcon', 'psrc', 'pdst', 'pcxn']) {
    await cluster.kubectl('-n', NAMESPACE, 'get', kind)
  }
  const explained = await cluster.kubectl('explain', 'connector.spec.allow')
  expect(explained).toContain('Addresses that the agents may reach')
})

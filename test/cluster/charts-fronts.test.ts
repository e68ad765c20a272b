import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { LEAST, openCharts, type Charts, type Rendered } from './rendered.ts'

let charts: Charts
beforeAll(async () => {
  charts = await openCharts()
}, 20 * 60_000)
afterAll(async () => await charts[Symbol.asyncDispose]())

const urls = { api: 'https://api.test', ingest: 'https://in.test', gateway: 'wss://gw.test' }
const FRONTED = { ...LEAST, urls }

const rolesOf = (objects: readonly Rendered[], kind: string): string[] =>
  objects.flatMap((one) => (one.kind === kind ? [one.metadata.name.replace('r-postern-', '')] : []))

const Front = z.object({
  ingressClassName: z.string().optional(),
  tls: z.array(z.object({ hosts: z.array(z.string()), secretName: z.string() })).default([]),
  parentRefs: z.array(z.object({ name: z.string() })).default([]),
  annotations: z.record(z.string(), z.string()).default({}),
})

/** The Ingress or HTTPRoute of a role. */
function frontOf(objects: readonly Rendered[], role: string): z.infer<typeof Front> {
  const found = objects.find(
    ({ kind, metadata }) => /Ingress|HTTPRoute/.test(kind) && metadata.name === `r-postern-${role}`,
  )
  const annotations = found?.metadata['annotations']
  return Front.parse({ ...z.looseObject({}).parse(found?.['spec']), annotations })
}

test('the API stays inside while ingest is public', async () => {
  const byIngest = await charts.render('postern', {
    ...LEAST,
    urls: { ingest: urls.ingest },
    gateway: { enabled: false },
    ingest: { ingress: { enabled: true } },
  })
  expect(rolesOf(byIngest, 'Ingress')).toEqual(['ingest'])
  const byRoute = await charts.render('postern', {
    ...FRONTED,
    gatewayApi: { enabled: true, parentRefs: [{ name: 'public' }] },
    api: { gatewayApi: { enabled: false } },
  })
  expect(rolesOf(byRoute, 'HTTPRoute')).toEqual(['gateway', 'ingest'])
})

test('each role has an Ingress with the class, annotations and certificate that it names', async () => {
  const objects = await charts.render('postern', {
    ...FRONTED,
    ingress: {
      enabled: true,
      className: 'outside',
      tlsSecretName: 'all',
      annotations: { size: '6m', timeout: '60' },
    },
    api: {
      ingress: {
        className: 'inside',
        tlsSecretName: 'inside',
        tlsHosts: ['*.test'],
        annotations: { timeout: '3600' },
      },
    },
    gateway: { ingress: { tlsSecretName: '' } },
  })
  expect(frontOf(objects, 'api')).toMatchObject({
    ingressClassName: 'inside',
    tls: [{ hosts: ['*.test'], secretName: 'inside' }],
    annotations: { size: '6m', timeout: '3600' },
  })
  expect(frontOf(objects, 'ingest')).toMatchObject({
    ingressClassName: 'outside',
    tls: [{ hosts: ['in.test'], secretName: 'all' }],
    annotations: { size: '6m', timeout: '60' },
  })
  expect(frontOf(objects, 'gateway')).toMatchObject({ ingressClassName: 'outside', tls: [] })
})

test('each role has a route to the Gateway that it names', async () => {
  const objects = await charts.render('postern', {
    ...FRONTED,
    gatewayApi: { enabled: true, parentRefs: [{ name: 'public' }], annotations: { a: 'b' } },
    api: { gatewayApi: { parentRefs: [{ name: 'inside' }], annotations: { c: 'd' } } },
  })
  expect(frontOf(objects, 'api')).toMatchObject({
    parentRefs: [{ name: 'inside' }],
    annotations: { a: 'b', c: 'd' },
  })
  expect(frontOf(objects, 'ingest')).toMatchObject({
    parentRefs: [{ name: 'public' }],
    annotations: { a: 'b' },
  })
})

const CERT_MANAGER = { 'cert-manager.io/cluster-issuer': 'letsencrypt' }

test('cert-manager makes a certificate for each role by its annotation', async () => {
  const own = (role: string): object => ({ ingress: { tlsSecretName: `postern-${role}` } })
  const values = {
    ...FRONTED,
    ingress: { enabled: true, annotations: CERT_MANAGER },
    api: own('api'),
    ingest: own('ingest'),
  }
  const objects = await charts.render('postern', { ...values, gateway: own('gateway') })
  const secrets = ['api', 'ingest', 'gateway'].map((role) => frontOf(objects, role).tls)
  expect(new Set(secrets.flat().map(({ secretName }) => secretName)).size).toBe(3)
  expect(await charts.refusal('postern', { ...values, gateway: own('api') })).toContain(
    'gateway.ingress.tlsSecretName: is also that of api',
  )
})

const Service = z.looseObject({ externalTrafficPolicy: z.string().optional() })

test('limits see the address of a sender behind a balancer, unless it may be that of a node', async () => {
  const objects = await charts.render('postern', {
    ...LEAST,
    api: { service: { type: 'NodePort', externalTrafficPolicy: 'Cluster' } },
    ingest: { service: { type: 'LoadBalancer' } },
    mail: { enabled: true, domain: 'in.test', service: { type: 'LoadBalancer' } },
  })
  const policies = objects.flatMap(({ kind, metadata, ...rest }) => {
    if (kind !== 'Service') return []
    const { externalTrafficPolicy } = Service.parse(rest['spec'])
    return externalTrafficPolicy === undefined ? [] : [[metadata.name, externalTrafficPolicy]]
  })
  expect(Object.fromEntries(policies)).toEqual({
    'r-postern-api': 'Cluster',
    'r-postern-ingest': 'Local',
    'r-postern-mail': 'Local',
  })
})

const on = { ingress: { enabled: true } }
const route = { enabled: true, parentRefs: [{ name: 'public' }] }
const balancer = (members: object): object => ({ ...LEAST, ingest: { service: members } })

test.each([
  ['a host that is an address', { ...FRONTED, ...on, urls: { ...urls, api: 'http://10.0.0.1' } }],
  [
    'a host of IPv6',
    { ...FRONTED, ...on, urls: { ...urls, api: 'http://[::1]:8080' } },
    'urls.api',
  ],
  ['a role without a host', { ...LEAST, ingest: on }, 'urls.ingest'],
  [
    'a role without a Gateway',
    { ...FRONTED, gatewayApi: route, ingest: { gatewayApi: { parentRefs: [] } } },
    'ingest.gatewayApi.parentRefs',
  ],
  [
    'hosts without a certificate',
    { ...FRONTED, ...on, api: { ingress: { tlsHosts: ['a.test'] } } },
    'api.ingress.tlsHosts',
  ],
  ['an unknown member of a role', { ...FRONTED, api: { ingress: { class: 'a' } } }, 'class'],
  [
    'a policy of a Service inside',
    balancer({ externalTrafficPolicy: 'Local' }),
    'ingest.service.externalTrafficPolicy',
  ],
  [
    'a class of no balancer',
    balancer({ type: 'NodePort', loadBalancerClass: 'a/b' }),
    'ingest.service.loadBalancerClass',
  ],
  [
    'ranges of no balancer',
    balancer({ loadBalancerSourceRanges: ['10.0.0.0/8'] }),
    'ingest.service.loadBalancerSourceRanges',
  ],
  [
    'an address for a range',
    balancer({ type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.1'] }),
    'loadBalancerSourceRanges',
  ],
  [
    'two families of one stack',
    balancer({ ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4', 'IPv6'] }),
    'ingest.service.ipFamilies',
  ],
])('%s is refused and named', async (_, values, named = 'urls.api') => {
  expect(await charts.refusal('postern', values)).toContain(named)
})

const Images = z.object({ containers: z.array(z.object({ image: z.string() })) })
const TEMPLATES = new Set(['Deployment', 'StatefulSet', 'Job'])

/** The images of all pods, and of the agents that an operator runs. */
function imagesOf(objects: readonly Rendered[]): string[] {
  const agents = [...JSON.stringify(objects).matchAll(/"CONNECTOR_IMAGE","value":"(.*?)"/g)]
  const pods = objects.flatMap(({ kind, ...rest }) => {
    const { template } = z
      .object({ template: z.object({ spec: Images }).optional() })
      .parse(rest['spec'] ?? {})
    return TEMPLATES.has(kind) ? (template?.spec.containers ?? []) : []
  })
  return [...new Set([...pods.map(({ image }) => image), ...agents.map((one) => one[1] ?? '')])]
}

test('the image of roles, operator and agents stands in one place', async () => {
  const values = { ...LEAST, image: {}, operator: { enabled: true } }
  const place = { repository: 'registry.test/all', tag: '1' }
  const all = await charts.render('postern', { ...values, global: { image: place } })
  expect(imagesOf(all)).toEqual(['registry.test/all:1'])
  const digest = `sha256:${'0'.repeat(64)}`
  const own = await charts.render('postern', {
    ...values,
    global: { image: { ...place, digest } },
    operator: { enabled: true, image: { tag: '2' } },
  })
  expect(imagesOf(own).toSorted()).toEqual(['registry.test/all:2', `registry.test/all@${digest}`])
})

test.each([
  ['the chart of the relay', 'postern', { ...LEAST, image: {} }, 'image.repository'],
  ['its operator', 'postern', { ...LEAST, operator: { enabled: true } }, 'global.image.repository'],
  ['the chart of connectors', 'postern-connector', {}, 'image.repository'],
])('%s without an image is refused, and the value named', async (_, chart, values, named) => {
  expect(await charts.refusal(chart, values)).toContain(`${named}: is missing`)
})

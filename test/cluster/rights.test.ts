import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { eventually } from '../kit/relay.ts'
import { openApiProxy } from './api-proxy.ts'
import type { Answer } from './cluster.ts'
import { type Passing } from './proxy.ts'
import { openScene, type Scene } from './scene.ts'

/** The operator as the chart installs it: its environment, its service account, and no right but that account's. */
const run = promisify(execFile)
const SOON_MS = 90_000
const APPLY = 'application/apply-patch+yaml'
const MERGE = 'application/merge-patch+json'
const NAME = 'rights-postern-connector'

let helm: string
beforeAll(async () => {
  helm = (await run('test/cluster/helm.sh')).stdout.trim()
}, 20 * 60_000)

let scene: Scene | undefined
afterAll(async () => await scene?.[Symbol.asyncDispose]())

async function render(namespace: string, sets: readonly string[]): Promise<Answer[]> {
  const image = ['--set', 'image.repository=registry.test/postern']
  const chart = ['template', 'rights', 'charts/postern-connector', '-n', namespace, ...image]
  const { stdout } = await run(helm, [...chart, ...sets], { maxBuffer: 64 * 1024 * 1024 })
  const objects = parseAllDocuments(stdout).map((document): Answer => document.toJS())
  return objects.filter((one) => one !== null)
}

const PLURALS: Record<string, string> = {
  ServiceAccount: '/api/v1/serviceaccounts',
  Lease: '/apis/coordination.k8s.io/v1/leases',
  Role: '/apis/rbac.authorization.k8s.io/v1/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/rolebindings',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
}

function pathOf({ kind, metadata: { namespace, name } }: Answer): string {
  const path = PLURALS[kind] ?? ''
  const at = path.lastIndexOf('/')
  const place = namespace === undefined ? '' : `/namespaces/${namespace}`
  return `${path.slice(0, at)}${place}${path.slice(at)}/${name}`
}

/** `verb group/resource`, as a rule of RBAC grants it. */
function rightsOf({ method, path, status }: Passing): string[] {
  const url = new URL(path, 'http://localhost')
  const parts = url.pathname.split('/').slice(1)
  const group = parts[0] === 'api' ? '' : (parts[1] ?? '')
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3)
  const isWithin = rest[0] === 'namespaces' && rest.length > 2
  const [resource = '', name, part] = isWithin ? rest.slice(2) : rest
  const look = name !== undefined ? 'get' : url.searchParams.has('watch') ? 'watch' : 'list'
  const verb = { GET: look, POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }[
    method
  ]
  const what = `${group}/${resource}${part === undefined ? '' : `/${part}`}`
  // An apply of something that is not there yet is a creation.
  const made = method === 'PATCH' && status === 201 ? [`create ${what}`] : []
  return [`${verb} ${what}`, ...made]
}

const granted = (rules: Answer[]): string[] =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group: string) =>
      resources.flatMap((resource: string) =>
        verbs.map((verb: string) => `${verb} ${group}/${resource}`),
      ),
    ),
  )

/** The admission plug-in alone asks for it. */
const ASKED_BY_ADMISSION = 'update postern.dev/connectors/finalizers'

test.each([
  ['all namespaces', false],
  ['its own namespace alone', true],
] as const)(
  'with the rights of the chart for %s everything works, and each right is needed',
  async (_, isNamespaced) => {
    await using own = await openScene()
    scene = own
    const { cluster, namespace } = own
    // An operator for all of them is refused whatever it makes in one that another file has left behind.
    await eventually(async () => {
      const { items } = await cluster.request('GET', '/api/v1/namespaces')
      expect(items.map(({ status }: Answer) => status.phase)).not.toContain('Terminating')
    }, SOON_MS)
    const sets = isNamespaced ? ['--set', `operator.watchNamespaces={${namespace}}`] : []
    const objects = await render(namespace, ['--set', 'crds.enabled=false', ...sets])
    const made = objects.filter(({ kind }) => PLURALS[kind] !== undefined)
    for (const object of made) {
      await cluster.request('PATCH', `${pathOf(object)}?fieldManager=helm`, object, APPLY)
    }
    const kubeconfig = await cluster.serviceAccountKubeconfig(namespace, NAME)
    const { users }: Answer = JSON.parse(readFileSync(kubeconfig, 'utf8'))
    await using api = await openApiProxy(cluster, users[0].user.token)
    const deployment = objects.find(({ kind }) => kind === 'Deployment')
    const env: Record<string, string> = { WATCH_NAMESPACES: '' }
    for (const { name, value } of deployment.spec.template.spec.containers[0].env) {
      if (value !== undefined && name !== 'OPS_PORT') env[name] = value
    }
    const start = async () => await own.operator({ name: 'pod-1', kubeconfig: api.kubeconfig, env })
    const lease = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${NAME}`
    {
      await using _operator = await start()
      await liveThrough(own)
      await cluster.request('DELETE', lease)
      await eventually(async () => expect(await own.find(lease)).toBeDefined(), SOON_MS)
    }
    await replaceWorkload(own)
    await using _operator = await start()
    await eventually(async () => {
      const { spec } = await own.find(workloadOf(own))
      expect(spec.podManagementPolicy).toBe('Parallel')
    }, SOON_MS)
    for (const plural of ['connections', 'destinations', 'sources', 'connectors']) {
      await own.remove(plural, 'all')
    }
    await eventually(async () => {
      for (const plural of ['connections', 'destinations', 'sources', 'connectors']) {
        expect(await own.list(plural)).toEqual([])
      }
    }, SOON_MS)
    expect(api.seen.filter(({ status }) => status === 401 || status === 403)).toEqual([])

    const used = new Set(api.seen.flatMap(rightsOf))
    const roles = made.filter(
      ({ kind, metadata }) => /^(Cluster)?Role$/.test(kind) && !/-(view|edit)$/.test(metadata.name),
    )
    const unused = granted(roles.flatMap(({ rules }) => rules)).filter((one) => !used.has(one))
    expect(unused).toEqual([ASKED_BY_ADMISSION])
    for (const object of made) await cluster.request('DELETE', pathOf(object))
  },
)

const workloadOf = ({ namespace }: Scene): string =>
  `/apis/apps/v1/namespaces/${namespace}/statefulsets/all-connector`

/** Everything that an operator does for objects: it makes, repairs, rotates and tells. */
async function liveThrough(own: Scene): Promise<void> {
  const { cluster, namespace } = own
  const relayRef = { name: 'main' }
  await own.apply('connectors', 'all', { relayRef, replicas: 1 })
  await own.apply('sources', 'all', { relayRef })
  await own.apply('destinations', 'all', { relayRef, url: 'https://shop.example.com/hooks' })
  const ends = { sourceRef: { name: 'all' }, destinationRef: { name: 'all' } }
  await own.apply('connections', 'all', { relayRef, ...ends })
  const untilReady = async (plural: string, name: string, expected: object): Promise<void> => {
    await eventually(async () => {
      expect(await own.condition(plural, name, 'Ready')).toMatchObject(expected)
    }, SOON_MS)
  }
  await untilReady('relays', 'main', { status: 'True' })
  await untilReady('connectors', 'all', { reason: 'RollingOut' })
  for (const plural of ['sources', 'destinations', 'connections']) {
    await untilReady(plural, 'all', { status: 'True' })
  }
  await refusePods(own)
  const budget = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/all-connector`
  await cluster.request('PATCH', budget, { spec: { maxUnavailable: 2 } }, MERGE)
  const secret = `/api/v1/namespaces/${namespace}/secrets/all-connector`
  await cluster.request('DELETE', secret)
  await eventually(async () => {
    expect((await own.find(budget)).spec.maxUnavailable).toBe(1)
    expect(await own.find(secret)).toBeDefined()
  }, SOON_MS)
  const policy = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/all-connector`
  for (const enabled of [false, true]) {
    const wanted = { networkPolicy: { enabled }, podDisruptionBudget: { enabled } }
    await own.merge('connectors', 'all', { spec: wanted })
    await eventually(async () => {
      for (const path of [policy, budget]) {
        expect((await own.find(path)) !== undefined, path).toBe(enabled)
      }
    }, SOON_MS)
  }
  // The same again is counted in the event that is there.
  for (const suspend of [true, false, true, false]) {
    await own.merge('sources', 'all', { spec: { suspend } })
    await untilReady('sources', 'all', { reason: suspend ? 'Suspended' : 'Applied' })
  }
  await eventually(async () => {
    const told = (await own.events('all')).filter(({ reason }) => reason === 'Suspended')
    expect(told).toMatchObject([{ series: { count: 2 } }])
  }, SOON_MS)
}

/** A quota that lets no pod be made: the operator looks for the reason. */
async function refusePods(own: Scene): Promise<void> {
  const { cluster, namespace } = own
  const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`
  await cluster.request('POST', quotas, {
    metadata: { name: 'none' },
    spec: { hard: { pods: '0' } },
  })
  await eventually(async () => {
    const { status } = await cluster.request('GET', `${quotas}/none`)
    expect(status.hard).toEqual({ pods: '0' })
  }, SOON_MS)
  await cluster.request('DELETE', `/api/v1/namespaces/${namespace}/pods/all-connector-0`)
  await eventually(async () => {
    const ready = await own.condition('connectors', 'all', 'Ready')
    expect(ready).toMatchObject({ reason: 'PodsRefused' })
  }, SOON_MS)
  await cluster.request('DELETE', `${quotas}/none`)
}

/** A StatefulSet of ours as another version of the operator may have made it, with a member that never changes. */
async function replaceWorkload(own: Scene): Promise<void> {
  const { cluster, namespace } = own
  const path = workloadOf(own)
  const { metadata, spec } = await own.find(path)
  await cluster.request('DELETE', path, { propagationPolicy: 'Background' })
  await eventually(async () => expect(await own.find(path)).toBeUndefined(), SOON_MS)
  const { name, labels, ownerReferences } = metadata
  const other = { ...spec, podManagementPolicy: 'OrderedReady' }
  await cluster.request('POST', `/apis/apps/v1/namespaces/${namespace}/statefulsets`, {
    metadata: { name, labels, ownerReferences },
    spec: other,
  })
}

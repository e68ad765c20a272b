import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { z } from 'zod'

import { startCluster, type Cluster } from '../cluster/cluster.ts'
import { loadImage, NODE, untilNodeReady } from './node.ts'

/** The node with both charts: calls to it, and deliveries that are counted at a service of the customer. */
export const run = promisify(execFile)
export const MINUTES = 60_000
export const RELAY = 'postern'
export const CUSTOMER = 'customer'
export const OPERATOR = 'operator'

/** Made by the first tests for the later ones. `ways` is how many deliveries each event has. */
export const made = { key: '', ingest: '', sourceId: '', ways: 0 }

export let cluster: Cluster
let helmPath: string

export async function openSite(): Promise<void> {
  helmPath = (await run('test/cluster/helm.sh')).stdout.trim()
  cluster = await startCluster(NODE)
  const images = z.string().parse(process.env['IMAGES_DIR'])
  for (const name of ['pause', 'postern', 'postgresql', 'nats']) {
    await loadImage(join(images, `${name}.tar`))
  }
  await untilNodeReady(cluster)
  for (const name of [RELAY, CUSTOMER, OPERATOR]) await createNamespace(name)
}

export async function createNamespace(name: string): Promise<void> {
  await cluster.kubectl('create', 'namespace', name)
  const restricted = 'pod-security.kubernetes.io/enforce=restricted'
  await cluster.kubectl('label', 'namespace', name, restricted)
}

export const helm = async (...args: string[]): Promise<string> => {
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig }
  return (await run(helmPath, args, { env, maxBuffer: 64 * 1024 * 1024 })).stdout
}
export const inRelay = async (...args: string[]): Promise<string> =>
  await cluster.kubectl('-n', RELAY, ...args)
export const inCustomer = async (...args: string[]): Promise<string> =>
  await cluster.kubectl('-n', CUSTOMER, ...args)
export const sets = (...values: string[]): string[] => values.flatMap((value) => ['--set', value])
export const words = (text: string): string[] => text.split(' ')

export const IMAGE = sets('image.repository=postern.test/postern', 'image.tag=dev')
/** The node has the cores of this machine, and a rolling update needs room beside what runs. */
const ROLES = ['api', 'ingest', 'worker', 'gateway', 'housekeeper']
const SMALL = ROLES.map((role) => `${role}.resources.requests.cpu=20m`)
export const VALUES = sets(
  ...SMALL,
  'encryptionKey.existingSecret.name=postern',
  'evaluation.enabled=true',
  'evaluation.postgresql.password.existingSecret.name=postern',
  'evaluation.postgresql.image=postern.test/postgresql:1',
  'evaluation.nats.image=postern.test/nats:1',
).concat(IMAGE)
/** Values of the second chart, with an operator. */
export const OPERATOR_VALUES = IMAGE.concat(
  sets('operator.resources.requests.cpu=20m', 'operator.allowedTemplateMembers={image}'),
)
export const WAITING = ['--wait', '--wait-for-jobs', '--timeout', '8m']

/** The management API, as a client inside the cluster reaches it. */
export async function api(
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const response = await fetch(`http://postern-api.${RELAY}.svc/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${made.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text === '' ? '{}' : text))
}

/** An object of ours, in the customer's namespace by default, as `kubectl apply` makes it. */
export async function declare(
  kind: string,
  name: string,
  spec: object,
  namespace = CUSTOMER,
): Promise<void> {
  const plural = `${kind.toLowerCase()}s`
  const path = `/apis/postern.dev/v1alpha1/namespaces/${namespace}/${plural}/${name}`
  const object = { apiVersion: 'postern.dev/v1alpha1', kind, metadata: { name }, spec }
  const query = '?fieldManager=test&force=true'
  await cluster.request('PATCH', `${path}${query}`, object, 'application/apply-patch+yaml')
}

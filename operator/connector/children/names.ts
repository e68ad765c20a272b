import { createHash } from 'node:crypto'

import type { KubeObject } from '../../runtime/kube/object.ts'
import { INSTANCE_LABEL, MANAGED_BY, MANAGED_LABEL } from '../../world/child-kinds.ts'

const SUFFIX = '-connector'
/** A StatefulSet with a longer name makes no pod: the label with the name of its revision would be too long. */
const LENGTH_MAX = 52
const HASH_LENGTH = 8

/** The name of all children of a Connector. A dot would make a host name that is none. */
export function childName({ metadata: { name } }: KubeObject): string {
  const plain = `${name}${SUFFIX}`
  if (plain.length <= LENGTH_MAX && !name.includes('.')) return plain
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH)
  const kept = name.replaceAll('.', '-').slice(0, LENGTH_MAX - SUFFIX.length - HASH_LENGTH - 1)
  return `${kept}-${hash}${SUFFIX}`
}

/** These never change, since the selector of a StatefulSet never does. */
export function selectorOf(connector: KubeObject): Record<string, string> {
  return {
    [INSTANCE_LABEL]: childName(connector),
    'app.kubernetes.io/name': 'postern-connector',
  }
}

export function labelsOf(connector: KubeObject): Record<string, string> {
  return { ...selectorOf(connector), [MANAGED_LABEL]: MANAGED_BY }
}

export function selectorText(connector: KubeObject): string {
  return Object.entries(selectorOf(connector))
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
}

import { createHash } from 'node:crypto'

import { GROUP } from '../kinds/parts.ts'
import type { KubeObject } from '../runtime/kube/object.ts'

const CLUSTER = `${GROUP}/cluster`
const NAMESPACE = `${GROUP}/namespace`
const NAME = `${GROUP}/name`
const UID = `${GROUP}/uid`

const NAME_LENGTH_MAX = 100

/** Says in a resource's metadata which object of which cluster it belongs to. */
export function markersOf(clusterId: string, { metadata }: KubeObject): Record<string, string> {
  return {
    [CLUSTER]: clusterId,
    [NAMESPACE]: metadata.namespace ?? '',
    [NAME]: metadata.name,
    [UID]: metadata.uid ?? '',
  }
}

/** The uid of the object of this cluster to which a resource belongs. */
export function ownerIn(
  clusterId: string,
): (metadata: Record<string, string>) => string | undefined {
  return (metadata) => (metadata[CLUSTER] === clusterId ? metadata[UID] : undefined)
}

/** Whom a resource belongs to, in words; undefined when it is nobody's. */
export function ownerInWords(metadata: Record<string, string>): string | undefined {
  if (metadata[UID] === undefined) return undefined
  return `${metadata[NAMESPACE]}/${metadata[NAME]} of the cluster ${metadata[CLUSTER]}`
}

/**
 * Whether an object may have a resource: one that is nobody's or its own, or that of an object of its cluster, namespace
 * and name, which has to be gone (`deletionPolicy: Retain`).
 */
export function mayHave(
  clusterId: string,
  { metadata: { namespace, name, uid } }: KubeObject,
  metadata: Record<string, string>,
): boolean {
  if (metadata[UID] === undefined) return true
  if (metadata[CLUSTER] !== clusterId) return false
  return metadata[UID] === uid || (metadata[NAMESPACE] === namespace && metadata[NAME] === name)
}

/** Names are unique in a project, in which several clusters may have the same objects. */
export function nameInRelay(clusterId: string, { metadata }: KubeObject): string {
  const name = `${metadata.namespace}/${metadata.name}@${clusterId.slice(0, 8)}`
  if (name.length <= NAME_LENGTH_MAX) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 10)
  return `${name.slice(0, NAME_LENGTH_MAX - 11)}-${hash}`
}

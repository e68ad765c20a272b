import { createHash } from 'node:crypto'

import { GROUP } from '../kinds/parts.ts'
import type { KubeObject } from '../runtime/kube/object.ts'

const CLUSTER = `${GROUP}/cluster`
const NAMESPACE = `${GROUP}/namespace`
const NAME = `${GROUP}/name`
const UID = `${GROUP}/uid`

const RELEASED = `${GROUP}/released`

const NAME_LENGTH_MAX = 100

/** An object that a resource names in its metadata. */
export interface Owner {
  clusterId: string
  namespace: string
  name: string
  uid: string
  /** The object went, and left the resource to whichever names it next. */
  isReleased: boolean
}

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

/** Whom a resource belongs to, or belonged to until it was released; undefined when it has no owner. */
export function ownerOf(metadata: Record<string, string>): Owner | undefined {
  const { [CLUSTER]: clusterId = '', [NAMESPACE]: namespace = '', [NAME]: name = '' } = metadata
  const { [UID]: uid, [RELEASED]: releasedAt } = metadata
  if (uid === undefined) return undefined
  return { clusterId, namespace, name, uid, isReleased: releasedAt !== undefined }
}

export function inWords({ clusterId, namespace, name }: Omit<Owner, 'uid' | 'isReleased'>): string {
  return `${namespace}/${name} of the cluster ${clusterId}`
}

/** It is the object's own, or that of an object of its cluster, namespace and name, which has to be gone. */
export function isOwn(clusterId: string, { metadata }: KubeObject, owner: Owner): boolean {
  if (owner.clusterId !== clusterId) return false
  if (owner.uid === metadata.uid) return true
  return owner.namespace === metadata.namespace && owner.name === metadata.name
}

/** The metadata of a resource whose object leaves it: another may have it then. */
export function released(metadata: Record<string, string>): Record<string, string> {
  return { ...metadata, [RELEASED]: new Date().toISOString() }
}

/** Whatever stands in the metadata, without the word of an object that has left it. */
export function withoutRelease(metadata: Record<string, string>): Record<string, string> {
  const { [RELEASED]: _, ...kept } = metadata
  return kept
}

/** Names are unique in a project, in which several clusters may have the same objects. */
export function nameInRelay(clusterId: string, { metadata }: KubeObject): string {
  const name = `${metadata.namespace}/${metadata.name}@${clusterId.slice(0, 8)}`
  if (name.length <= NAME_LENGTH_MAX) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 10)
  return `${name.slice(0, NAME_LENGTH_MAX - 11)}-${hash}`
}

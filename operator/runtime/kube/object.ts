/** Metadata of an object, so far as the operator reads it. */
export interface ObjectMeta {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  managedFields?: unknown
}

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** An object as the API server writes it; a kind of ours is parsed before it is used. */
export interface KubeObject {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  // oxlint-disable-next-line typescript/no-explicit-any -- every kind has members of its own
  [member: string]: any
}

/** A kind of namespaced objects, as paths name it. */
export interface Kind {
  /** Empty for the core group. */
  group: string
  version: string
  kind: string
  plural: string
}

export function apiVersionOf({ group, version }: Kind): string {
  return group === '' ? version : `${group}/${version}`
}

/** `namespace/name`: what an object is called in stores and queues. */
export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

export function splitKey(key: string): { namespace: string; name: string } {
  const at = key.indexOf('/')
  return { namespace: key.slice(0, at), name: key.slice(at + 1) }
}

/** The path of a kind's objects: those of all namespaces, of one, or a single one. */
export function pathOf(kind: Kind, namespace?: string, name?: string): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`
  const place = namespace === undefined || namespace === '' ? '' : `/namespaces/${namespace}`
  return `${root}${place}/${kind.plural}${name === undefined ? '' : `/${name}`}`
}

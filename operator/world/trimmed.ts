import type { KubeObject } from '../runtime/kube/object.ts'

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Without the records of who set which member, which are half of an object. */
export function trimmed(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return { ...object, metadata }
  const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations
  return { ...object, metadata: { ...metadata, annotations } }
}

/** A child's content is kept as text, a quarter of the object: it is read when its owner is looked at. */
export function asText(object: KubeObject): KubeObject {
  const { metadata, status, apiVersion: _, kind: __, ...content } = trimmed(object)
  return { metadata, status, text: JSON.stringify(content) }
}

/** The object that `asText` keeps, as an object again. */
export function fromText({ metadata, text }: KubeObject): object {
  return { metadata, ...JSON.parse(String(text)) }
}

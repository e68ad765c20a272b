import type { KubeObject } from '../runtime/kube/object.ts'
import { AGENT_CONTAINER } from './child-kinds.ts'

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Without the records of who set which member, which are half of an object. */
export function trimmed(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  if (metadata.annotations?.[LAST_APPLIED] === undefined) return { ...object, metadata }
  const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations
  return { ...object, metadata: { ...metadata, annotations } }
}

/** A pod with its standing and that of its agent. */
export function trimPod({ metadata, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, labels, deletionTimestamp, ownerReferences } =
    metadata
  const { phase, reason, message, conditions = [], containerStatuses = [] } = status ?? {}
  return {
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(labels !== undefined && { labels }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(ownerReferences !== undefined && { ownerReferences }),
    },
    status: {
      phase,
      reason,
      message,
      conditions: conditions.filter(({ type }: { type: string }) =>
        ['Ready', 'PodScheduled'].includes(type),
      ),
      containerStatuses: containerStatuses.filter(
        (one: { name: string }) => one.name === AGENT_CONTAINER,
      ),
    },
  }
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

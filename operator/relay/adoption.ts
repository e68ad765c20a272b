import { GROUP } from '../kinds/parts.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import { inWords, isOwn, ownerOf, type Owner } from './markers.ts'

/** An annotation with the id of the cluster that a resource is taken over from. */
const ADOPT_ANNOTATION = `${GROUP}/adopt-from`

/** An object that a resource belongs to, as this operator sees it: `unseen` is one of another cluster or namespace. */
export type Presence = 'alive' | 'gone' | 'unseen'

export interface Adoption {
  clusterId: string
  object: KubeObject
  /** The spec names the resource by its id. */
  isNamed: boolean
  /** The object has had the resource: an annotation that is left over takes nothing back. */
  hasHad: boolean
  presenceOf: (owner: Owner) => Presence
}

/**
 * Why an object may not have a resource, with a remedy; undefined when it may. A resource has no owner, is the object's own,
 * released and asked for, or asked for from where this operator does not see. (docs/kubernetes/conditions.md)
 */
export function refusalOf(
  { clusterId, object, isNamed, hasHad, presenceOf }: Adoption,
  metadata: Record<string, string>,
): string | undefined {
  const owner = ownerOf(metadata)
  if (owner === undefined || isOwn(clusterId, object, owner)) return undefined
  const presence = owner.clusterId === clusterId ? presenceOf(owner) : 'unseen'
  const isAsked = !hasHad && object.metadata.annotations?.[ADOPT_ANNOTATION] === owner.clusterId
  const isFree = owner.isReleased || presence === 'gone'
  if (isFree ? isNamed || isAsked : isAsked && presence === 'unseen') return undefined
  const annotate = `set the annotation ${ADOPT_ANNOTATION}: ${owner.clusterId} here`
  const whose = inWords(owner)
  if (isFree) return `belonged to ${whose}, which is gone: to take it over, ${annotate}`
  if (hasHad) return `was taken over by ${whose}: delete this object, and it stays there`
  const leave = 'delete that object with deletionPolicy: Retain'
  if (presence === 'alive') return `belongs to ${whose}, which exists: ${leave} first`
  return `belongs to ${whose}: ${leave}${isNamed ? '' : ` and ${annotate}`}, or, where it is gone already, ${annotate}${restored(object, owner, clusterId)}`
}

/** A cluster that was restored elsewhere has the objects and another uid. */
function restored({ metadata }: KubeObject, owner: Owner, clusterId: string): string {
  const { namespace, name } = metadata
  const isTwin = owner.namespace === namespace && owner.name === name
  if (!isTwin || owner.clusterId === clusterId) return ''
  return `. If this cluster was restored from that one, install the operator with operator.clusterId: ${owner.clusterId}`
}

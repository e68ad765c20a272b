import { createHash } from 'node:crypto'

import { CONNECTOR, type ConnectorSpec } from '../../kinds/connector.ts'
import { GROUP } from '../../kinds/parts.ts'
import type { Kind, KubeObject, ObjectMeta } from '../../runtime/kube/object.ts'
import { ownerReference } from '../../runtime/objects/ownership.ts'
import {
  DISRUPTION_BUDGET,
  NETWORK_POLICY,
  SERVICE_ACCOUNT,
  STATEFUL_SET,
} from '../../world/child-kinds.ts'
import { childName, labelsOf, selectorOf } from './names.ts'
import { podSpec, type Surroundings } from './pod.ts'

export interface Child {
  kind: Kind
  object: KubeObject
}

/** A hash of a child as it is wanted. */
const WANTED_ANNOTATION = `${GROUP}/wanted`

/** A pod that is ready for so long counts as available. */
const MIN_READY_SECONDS = 5

export function childMeta(connector: KubeObject): ObjectMeta {
  return {
    name: childName(connector),
    namespace: connector.metadata.namespace ?? '',
    labels: labelsOf(connector),
    ownerReferences: [ownerReference(CONNECTOR, connector)],
  }
}

/** The objects that serve a Connector, but for the Secret with its key. */
export function childrenOf(
  connector: KubeObject,
  spec: ConnectorSpec,
  surroundings: Surroundings,
): Child[] {
  const metadata = childMeta(connector)
  const selector = { matchLabels: selectorOf(connector) }
  const budget = {
    metadata,
    spec: { maxUnavailable: 1, selector, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  }
  const policy = {
    metadata,
    // Nobody calls an agent but whoever watches it. It calls out, to hosts that a policy cannot name.
    spec: {
      podSelector: selector,
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ port: 'ops', protocol: 'TCP' }] }],
    },
  }
  const children: Child[] = [
    ...(isWanted(spec.podDisruptionBudget) ? [{ kind: DISRUPTION_BUDGET, object: budget }] : []),
    ...(isWanted(spec.networkPolicy) ? [{ kind: NETWORK_POLICY, object: policy }] : []),
    { kind: STATEFUL_SET, object: statefulSet(connector, spec, surroundings) },
  ]
  if (spec.template?.serviceAccountName === undefined) {
    const account = { metadata, automountServiceAccountToken: false }
    children.unshift({ kind: SERVICE_ACCOUNT, object: account })
  }
  return children.map(marked)
}

function isWanted(child: { enabled: boolean } | undefined): boolean {
  return child?.enabled !== false
}

/**
 * A child that lacks nothing may still have what is wanted no longer, which looks like an addition of somebody else. By the
 * hash each change of ours is seen, and the apply takes away what only we had set. It is not on the pods: none rolls for it.
 */
function marked({ kind, object }: Child): Child {
  const hash = createHash('sha256').update(JSON.stringify(object)).digest('hex')
  const annotations = { [WANTED_ANNOTATION]: hash }
  return { kind, object: { ...object, metadata: { ...object.metadata, annotations } } }
}

function statefulSet(
  connector: KubeObject,
  spec: ConnectorSpec,
  surroundings: Surroundings,
): KubeObject {
  const { labels = {}, annotations = {} } = spec.template ?? {}
  return {
    metadata: childMeta(connector),
    spec: {
      replicas: spec.replicas,
      serviceName: childName(connector),
      podManagementPolicy: 'Parallel',
      minReadySeconds: MIN_READY_SECONDS,
      updateStrategy: { type: 'RollingUpdate' },
      revisionHistoryLimit: 2,
      selector: { matchLabels: selectorOf(connector) },
      template: {
        metadata: {
          labels: { ...labels, ...labelsOf(connector) },
          ...(Object.keys(annotations).length > 0 && { annotations }),
        },
        spec: podSpec(connector, spec, surroundings),
      },
    },
  }
}

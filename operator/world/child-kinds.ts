import type { Kind } from '../runtime/kube/object.ts'

/** The kinds of objects that the operator makes for a Connector. */
export const SECRET: Kind = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets' }
export const SERVICE_ACCOUNT: Kind = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
}
export const STATEFUL_SET: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  plural: 'statefulsets',
}
export const POD: Kind = { group: '', version: 'v1', kind: 'Pod', plural: 'pods' }
export const DISRUPTION_BUDGET: Kind = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
}
export const NETWORK_POLICY: Kind = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
}

export const MANAGED_BY = 'postern-operator'
export const MANAGED_LABEL = 'app.kubernetes.io/managed-by'
/** Names the children of a Connector: a StatefulSet, and each of its pods. */
export const INSTANCE_LABEL = 'app.kubernetes.io/instance'
export const AGENT_CONTAINER = 'agent'

import type { Logger } from '../../core/log.ts'
import { CONNECTION } from '../kinds/connection.ts'
import { CONNECTOR } from '../kinds/connector.ts'
import { DESTINATION } from '../kinds/destination.ts'
import { RELAY } from '../kinds/relay.ts'
import { SOURCE } from '../kinds/source.ts'
import type { KubeClient } from '../runtime/kube/client.ts'
import type { Kind, KubeObject } from '../runtime/kube/object.ts'
import { Reflector } from '../runtime/watch/reflector.ts'
import { Store } from '../runtime/watch/store.ts'
import { BY_RELAY, BY_RESOURCE, BY_SECRET, BY_UID, BY_WORKLOAD } from './by.ts'
import {
  DISRUPTION_BUDGET,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_LABEL,
  NETWORK_POLICY,
  POD,
  SECRET,
  SERVICE_ACCOUNT,
  STATEFUL_SET,
} from './child-kinds.ts'
import { USE_LABEL } from './secret-reader.ts'
import { asText, trimmed, trimPod } from './trimmed.ts'

/** Everything that the operator sees of a cluster. */
export interface World {
  relays: Store<KubeObject>
  connectors: Store<KubeObject>
  sources: Store<KubeObject>
  destinations: Store<KubeObject>
  connections: Store<KubeObject>
  /** Metadata of Secrets that objects may name: what is in them is asked for when it is needed. */
  secrets: Store<KubeObject>
  /** Metadata of the Secrets with enrolment keys. */
  enrolments: Store<KubeObject>
  statefulSets: Store<KubeObject>
  serviceAccounts: Store<KubeObject>
  disruptionBudgets: Store<KubeObject>
  networkPolicies: Store<KubeObject>
  pods: Store<KubeObject>
  watches(namespace: string): boolean
  run(signal: AbortSignal): Promise<void>
  /** Every list has come once. */
  synced: Promise<unknown>
}

/** The key under which objects are listed that refer to another of their namespace. */
function inNamespace({ metadata }: KubeObject, name: string): string {
  return `${metadata.namespace}/${name}`
}

export function openWorld(client: KubeClient, namespaces: readonly string[], log: Logger): World {
  const reflectors: Reflector<KubeObject>[] = []
  const open = (kind: Kind, how: How = {}): Store<KubeObject> => {
    const store = new Store<KubeObject>()
    for (const namespace of namespaces.length === 0 ? [undefined] : namespaces) {
      const { labels, trim = trimmed, metadataOnly = false } = how
      const options = { client, kind, namespace, labels, metadataOnly, store, trim, log }
      reflectors.push(new Reflector(options))
    }
    return store
  }
  const declared = (kind: Kind): Store<KubeObject> => {
    const store = open(kind)
    store.index(BY_RELAY, (object) => [inNamespace(object, object['spec'].relayRef.name)])
    store.index(BY_UID, ({ metadata }) => [metadata.uid ?? ''])
    const id = `${kind.kind.toLowerCase()}Id`
    store.index(BY_SECRET, secretsOf)
    store.index(BY_RESOURCE, ({ status, spec }) => [status?.[id] ?? spec[id] ?? ''])
    return store
  }
  const child = (kind: Kind, how: How = {}): Store<KubeObject> => {
    return open(kind, { labels: `${MANAGED_LABEL}=${MANAGED_BY}`, trim: asText, ...how })
  }
  const pods = child(POD, { trim: trimPod })
  pods.index(BY_WORKLOAD, (pod) => [workloadOf(pod)])
  const relays = open(RELAY)
  relays.index(BY_SECRET, secretsOf)
  return {
    relays,
    connectors: declared(CONNECTOR),
    sources: declared(SOURCE),
    destinations: declared(DESTINATION),
    connections: declared(CONNECTION),
    secrets: child(SECRET, { labels: USE_LABEL, trim: trimmed, metadataOnly: true }),
    enrolments: child(SECRET, { trim: trimmed, metadataOnly: true }),
    statefulSets: child(STATEFUL_SET),
    serviceAccounts: child(SERVICE_ACCOUNT),
    disruptionBudgets: child(DISRUPTION_BUDGET),
    networkPolicies: child(NETWORK_POLICY),
    pods,
    synced: Promise.all(reflectors.map(async ({ synced }) => await synced)),
    watches: (namespace) => namespaces.length === 0 || namespaces.includes(namespace),
    async run(signal) {
      await Promise.all(reflectors.map(async (reflector) => await reflector.run(signal)))
    },
  }
}

/** The key of the StatefulSet that a pod is of. */
export function workloadOf(pod: KubeObject): string {
  return inNamespace(pod, pod.metadata.labels?.[INSTANCE_LABEL] ?? '')
}

/** The Secrets of its namespace that an object names, wherever in its spec. */
function secretsOf(object: KubeObject): string[] {
  const names: string[] = []
  const look = (value: unknown, name: string): void => {
    if (typeof value !== 'object' || value === null) return
    if (/secret(?:Key)?Ref$/i.test(name) && 'name' in value)
      names.push(inNamespace(object, String(value.name)))
    else for (const [member, inner] of Object.entries(value)) look(inner, member)
  }
  look(object['spec'], '')
  return names
}

interface How {
  labels?: string | undefined
  trim?: (object: KubeObject) => KubeObject
  metadataOnly?: boolean
}

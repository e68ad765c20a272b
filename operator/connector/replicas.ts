import type { Answer } from '../../clients/typescript/index.ts'
import { type ConnectorStatus, REPLICAS_MAX } from '../kinds/connector.ts'
import type { Item } from '../relay/poller.ts'
import type { RelayClient } from '../relay/relay-client.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import type { Memory } from './memory.ts'

type Replica = Answer<'listReplicas'>['data'][number]
type ReplicaStatuses = NonNullable<ConnectorStatus['replicaStatuses']>

/**
 * The agents that have enrolled, for people who look. They are asked for when the number of sessions has changed, and only
 * while nobody waits for a call that matters more.
 */
export async function replicasOf({
  connector,
  client,
  item,
  memory,
}: {
  connector: KubeObject
  client: RelayClient
  item: Item
  memory: Memory
}): Promise<ReplicaStatuses | undefined> {
  const known: ReplicaStatuses | undefined = connector['status']?.replicaStatuses
  const online: number = item.body.onlineReplicas
  const shown = known?.filter(({ state }) => state === 'online').length ?? 0
  const mark = `${item.id} ${online}`
  if (shown === online || memory.detailedAt === mark || !client.isIdle || client.isShort)
    return known
  memory.detailedAt = mark
  const asked = { id: item.id, limit: 100, sortDir: 'desc' } as const
  const { data } = await client.patientApi.listReplicas(asked)
  // A pod that was made anew has enrolled again under its name: the newest counts.
  const newest = new Map<string, Replica>()
  for (const replica of data.toReversed()) newest.set(replica.name, replica)
  return [...newest.values()]
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
    .slice(0, REPLICAS_MAX)
    .map(({ name, id, status, version }) => ({ name, replicaId: id, state: status, version }))
}

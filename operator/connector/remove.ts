import { PosternError } from '../../clients/typescript/index.ts'
import { CONNECTOR, type ConnectorSpec } from '../kinds/connector.ts'
import { Halt } from '../relay/problem.ts'
import { hasCode } from '../relay/relay-error.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import { controllerOf } from '../runtime/objects/ownership.ts'
import { STATEFUL_SET } from '../world/child-kinds.ts'
import type { Deps } from '../world/deps.ts'
import { deletedForMs, letGo } from '../world/lifecycle.ts'
import { endInRelay } from '../world/release.ts'
import { fromText } from '../world/trimmed.ts'
import { childName } from './children/names.ts'
import type { Memory } from './memory.ts'
import { findRemote, type Sought } from './remote.ts'

const DRAIN_POLL_MS = 1_000
/** Beyond the grace period of the pods. */
const DRAIN_MORE_MS = 15_000
const GRACE_SECONDS = 75
const BLOCKED_MS = 10_000

/** Pods first, so that requests in flight are finished; then the connector of the relay; then the object itself. */
export async function removeConnector(
  deps: Deps,
  connector: KubeObject,
  spec: ConnectorSpec,
  memory: Memory,
): Promise<{ againMs?: number }> {
  if (!(await isDrained(deps, connector, spec))) return { againMs: DRAIN_POLL_MS }
  await endInRelay(deps, { kind: CONNECTOR, object: connector }, (access) => {
    const { api } = access.client
    const id = ownId({
      connector,
      spec,
      memory,
      poller: access.poller('connectors', spec.projectId),
      clusterId: deps.clusterId,
    })
    if (id === undefined) return undefined
    return {
      read: async () => await api.getConnector({ id }),
      write: async (metadata) => await api.updateConnector({ id, body: { data: { metadata } } }),
      remove: async () =>
        await deleteRemote(deps, connector, async () => await api.deleteConnector({ id })),
    }
  })
  await letGo(deps, CONNECTOR, connector)
  return {}
}

/** The connector that this object has made or taken over; one that it names and never had is another's. */
function ownId(asked: Sought): string | undefined {
  const { connector, memory, poller } = asked
  const found = findRemote(asked)
  const known: string | undefined = memory.made?.item.id ?? connector['status']?.connectorId
  if (known !== undefined) return known
  const isOurs =
    found && poller.snapshot?.byOwner.get(connector.metadata.uid ?? '')?.id === found.id
  return isOurs === true ? found?.id : undefined
}

async function deleteRemote(
  { recorder }: Deps,
  connector: KubeObject,
  call: () => Promise<unknown>,
): Promise<void> {
  try {
    await call()
  } catch (error) {
    if (error instanceof PosternError && error.status === 404) return
    const isBusy = hasCode(error, 'CONNECTOR_PROVISIONING')
    if (!isBusy && !hasCode(error, 'CONFLICT')) throw error
    const reason = isBusy ? 'DeletionWaiting' : 'DeletionBlocked'
    const note = error.message
    recorder.tell(CONNECTOR, connector, { type: 'Normal', reason, action: 'Deleting', note })
    throw new Halt(reason, note, { againMs: isBusy ? 2_000 : BLOCKED_MS })
  }
}

async function isDrained(
  { world, kube }: Deps,
  connector: KubeObject,
  spec: ConnectorSpec,
): Promise<boolean> {
  const { namespace = '', uid } = connector.metadata
  const name = childName(connector)
  const live = world.statefulSets.get(`${namespace}/${name}`)
  if (live === undefined || controllerOf(live)?.uid !== uid) return true
  if (live.metadata.deletionTimestamp !== undefined) return true
  const grace = spec.template?.terminationGracePeriodSeconds ?? GRACE_SECONDS
  if (deletedForMs(connector) > grace * 1_000 + DRAIN_MORE_MS) return true
  // oxlint-disable-next-line typescript/no-explicit-any -- a StatefulSet
  const { spec: found }: any = fromText(live)
  if (found.replicas !== 0)
    await kube.merge(STATEFUL_SET, { namespace, name }, { spec: { replicas: 0 } })
  const isSeen = live.status?.observedGeneration === live.metadata.generation
  return found.replicas === 0 && isSeen && (live.status?.replicas ?? 0) === 0
}

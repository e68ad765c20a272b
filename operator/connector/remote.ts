import { PosternError } from '../../clients/typescript/index.ts'
import type { ConnectorSpec } from '../kinds/connector.ts'
import type { Claims } from '../relay/claims.ts'
import { markersOf, mayHave, nameInRelay, ownerInWords } from '../relay/markers.ts'
import type { Item, Poller } from '../relay/poller.ts'
import { Halt } from '../relay/problem.ts'
import type { Body, RelayClient } from '../relay/relay-client.ts'
import { hasCode } from '../relay/relay-error.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import type { Memory } from './memory.ts'

/** How long a key waits for a list that it needs. */
const LIST_WAIT_MS = 1_500

export interface Asked {
  connector: KubeObject
  spec: ConnectorSpec
  client: RelayClient
  poller: Poller
  memory: Memory
  claims: Claims
  clusterId: string
}

/** The connector in the relay, and its key when it was just made. */
export interface Remote {
  item: Item
  enrollmentKey?: string
}

/** No fault: the next list is needed first. */
export class Wait extends Error {
  override readonly name = 'Wait'
  readonly againMs = LIST_WAIT_MS
}

function itemOf(body: Body): Item {
  const { id, name, updatedAt, metadata } = body
  return { id, name, updatedAt, metadata, body }
}

/**
 * Finds the connector of an object in the relay. A kill may have come between any two steps, so what is not in the status
 * is looked for by the markers in the metadata; a list from before our last try says nothing.
 */
export function findRemote({ connector, spec, poller, memory }: Asked): Item | undefined {
  const { snapshot } = poller
  if (snapshot === undefined) {
    poller.refuse()
    throw new Wait()
  }
  const { made } = memory
  const id: string | undefined =
    spec.connectorId ?? made?.item.id ?? connector['status']?.connectorId
  const listed = id === undefined ? undefined : snapshot.items.get(id)
  if (made !== undefined && snapshot.startedAt < made.at) return made.item
  memory.made = undefined
  if (listed !== undefined) return listed
  if (snapshot.startedAt < memory.triedAt) {
    poller.wish()
    throw new Wait()
  }
  return spec.connectorId === undefined
    ? snapshot.byOwner.get(connector.metadata.uid ?? '')
    : undefined
}

/** The connector as it is declared: made if it is not there, put right if it differs. */
export async function ensureRemote(asked: Asked): Promise<Remote> {
  const found = findRemote(asked)
  if (found === undefined) return await make(asked)
  return { item: await putRight(asked, found) }
}

async function make(asked: Asked): Promise<Remote> {
  const { connector, spec, client, poller, memory } = asked
  if (spec.connectorId !== undefined) {
    throw new Halt('RemoteMissing', `The relay has no connector ${spec.connectorId}`, {
      againMs: 60_000,
    })
  }
  const { uid = '' } = connector.metadata
  const before: string | undefined = connector['status']?.connectorId
  // The same again after a kill; another one after the connector was deleted by hand.
  const idempotencyKey = before === undefined ? `operator/${uid}` : `operator/${uid}/${before}`
  const body = { name: wantedName(asked), metadata: wantedMetadata(asked, {}) }
  memory.triedAt = performance.now()
  poller.wish()
  try {
    const { enrollmentKey, ...made } = await client.api.createConnector({
      body,
      idempotencyKey,
      projectId: spec.projectId,
    })
    const item = itemOf(made)
    memory.made = { item, at: performance.now() }
    memory.enrolled = undefined
    return { item, enrollmentKey }
  } catch (error) {
    // A refusal has made nothing, and no newer list is needed to know it.
    memory.triedAt = isRefusal(error) ? Number.NEGATIVE_INFINITY : performance.now()
    if (!hasCode(error, 'CONFLICT')) throw error
    const holder = [...(poller.snapshot?.items.values() ?? [])].find(
      ({ name }) => name === body.name,
    )
    const whose = holder && ownerInWords(holder.metadata)
    throw new Halt(
      'NameConflict',
      `The name "${body.name}" is taken${whose === undefined ? '' : ` by ${whose}`}: set displayName to another one, or connectorId to take it over (${error.message})`,
    )
  }
}

/** A conflict may be with our own request, which is still under way or was answered to nobody. */
function isRefusal(error: unknown): boolean {
  return error instanceof PosternError && error.status >= 300 && error.code !== 'CONFLICT'
}

async function putRight(asked: Asked, found: Item): Promise<Item> {
  const { connector, spec, client, memory, claims, clusterId, poller } = asked
  if (!mayHave(clusterId, connector, found.metadata)) {
    const owner = ownerInWords(found.metadata)
    throw new Halt('NameConflict', `The connector ${found.id} belongs to ${owner}`)
  }
  if (!claims.take(found.id, connector.metadata.uid ?? '')) {
    throw new Halt('NameConflict', `Another object has the connector ${found.id}`)
  }
  let item = found
  const name = wantedName(asked)
  const metadata = wantedMetadata(asked, found.metadata)
  const isMarked = Object.entries(metadata).every(([key, value]) => found.metadata[key] === value)
  if (found.name !== name || !isMarked) {
    const data = { name, metadata }
    item = itemOf(await client.api.updateConnector({ id: found.id, body: { data } }))
  }
  if (found.body.isDisabled !== spec.disabled) {
    const body = { isDisabled: spec.disabled }
    item = itemOf(await client.api.toggleConnector({ id: found.id, body }))
  }
  if (item !== found) {
    memory.made = { item, at: performance.now() }
    poller.wish()
  }
  return item
}

function wantedName({ connector, spec, clusterId }: Asked): string {
  return (spec.displayName ?? nameInRelay(clusterId, connector)).normalize('NFC')
}

/** Our markers, beside what others keep there. */
function wantedMetadata(
  { connector, clusterId }: Asked,
  kept: Record<string, string>,
): Record<string, string> {
  return { ...kept, ...markersOf(clusterId, connector) }
}

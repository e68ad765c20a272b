import { isDeepStrictEqual } from 'node:util'

import { PosternError } from '../../clients/typescript/index.ts'
import type { ConnectorSpec } from '../kinds/connector.ts'
import { refusalOf, type Presence } from '../relay/adoption.ts'
import type { Claims } from '../relay/claims.ts'
import {
  inWords,
  isOwn,
  markersOf,
  nameInRelay,
  ownerOf,
  withoutRelease,
  type Owner,
} from '../relay/markers.ts'
import type { Item, Poller } from '../relay/poller.ts'
import { Halt } from '../relay/problem.ts'
import type { Body, RelayClient } from '../relay/relay-client.ts'
import { hasCode } from '../relay/relay-error.ts'
import type { KubeObject } from '../runtime/kube/object.ts'
import type { Memory } from './memory.ts'

/** How long a key waits for a list that it needs. */
const LIST_WAIT_MS = 1_500

/** An object, and where its connector is looked for. */
export interface Sought {
  connector: KubeObject
  spec: ConnectorSpec
  poller: Poller
  memory: Memory
  clusterId: string
}

interface Asked extends Sought {
  client: RelayClient
  claims: Claims
  presenceOf: (owner: Owner) => Presence
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
export function findRemote(asked: Sought): Item | undefined {
  const { connector, spec, poller, memory } = asked
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
  if (spec.connectorId !== undefined) return undefined
  return snapshot.byOwner.get(connector.metadata.uid ?? '') ?? findLeft(asked)
}

/** The one that an earlier object of the same name has left: with `Retain`, or in a cluster that was restored. */
function findLeft({ connector, clusterId, memory, poller }: Sought): Item | undefined {
  const left = [...(poller.snapshot?.items.values() ?? [])].find(({ metadata }) => {
    const owner = ownerOf(metadata)
    return owner !== undefined && isOwn(clusterId, connector, owner)
  })
  if (left === undefined || (poller.snapshot?.startedAt ?? 0) > memory.since) return left
  // An older list has connectors that the earlier object may have deleted.
  poller.wish()
  throw new Wait()
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
    throw new Halt('NameConflict', `${conflictOf(asked, body.name)} (${error.message})`)
  }
}

/** A name is no claim: a connector of that name is taken over by its id alone, which an object has from the start. */
function conflictOf(asked: Asked, name: string): string {
  const { poller, presenceOf, clusterId, memory } = asked
  const holder = [...(poller.snapshot?.items.values() ?? [])].find((item) => item.name === name)
  if (holder === undefined && (poller.snapshot?.startedAt ?? 0) < memory.since) throw new Wait()
  const owner = holder && ownerOf(holder.metadata)
  const whose = owner === undefined ? '' : ` by ${inWords(owner)}`
  const taken = `The name "${name}" is taken${whose}: set displayName to another one`
  const isAlive = owner?.clusterId === clusterId && presenceOf(owner) === 'alive'
  if (holder === undefined || (isAlive && !owner.isReleased)) return taken
  return `${taken}, or, to take it over, delete this object and create it again with connectorId: ${holder.id}`
}

/** A conflict may be with our own request, which is still under way or was answered to nobody. */
function isRefusal(error: unknown): boolean {
  return error instanceof PosternError && error.status >= 300 && error.code !== 'CONFLICT'
}

async function putRight(asked: Asked, found: Item): Promise<Item> {
  const { connector, spec, client, memory, claims, clusterId, poller, presenceOf } = asked
  const adoption = {
    clusterId,
    object: connector,
    isNamed: spec.connectorId === found.id,
    hasHad: connector['status']?.connectorId === found.id,
    presenceOf,
  }
  const refusal = refusalOf(adoption, found.metadata)
  if (refusal !== undefined) {
    throw new Halt('NameConflict', `The connector ${found.id} ${refusal}`)
  }
  if (!claims.take(found.id, connector.metadata.uid ?? '')) {
    throw new Halt('NameConflict', `Another object has the connector ${found.id}`)
  }
  let item = found
  const name = wantedName(asked)
  const metadata = wantedMetadata(asked, found.metadata)
  if (found.name !== name || !isDeepStrictEqual(metadata, found.metadata)) {
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
  return { ...withoutRelease(kept), ...markersOf(clusterId, connector) }
}

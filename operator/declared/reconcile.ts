import { createHash } from 'node:crypto'

import { PosternError, type Postern } from '../../clients/typescript/index.ts'
import { Wait } from '../connector/remote.ts'
import { CONNECTION } from '../kinds/connection.ts'
import { DESTINATION } from '../kinds/destination.ts'
import { SOURCE } from '../kinds/source.ts'
import { refusalOf } from '../relay/adoption.ts'
import { markersOf } from '../relay/markers.ts'
import type { Item, Poller } from '../relay/poller.ts'
import { Halt, problemOf } from '../relay/problem.ts'
import type { Body } from '../relay/relay-client.ts'
import { hasCode } from '../relay/relay-error.ts'
import type { Listed } from '../relay/relays.ts'
import type { Kind, KubeObject } from '../runtime/kube/object.ts'
import { hasFinalizer } from '../runtime/objects/ownership.ts'
import type { Outcome } from '../runtime/queue/controller.ts'
import type { Deps } from '../world/deps.ts'
import { FINALIZER, hold, letGo, tellChange, writeStatus } from '../world/lifecycle.ts'
import { presenceIn } from '../world/presence.ts'
import { endInRelay } from '../world/release.ts'
import { connectionBody, destinationBody, sourceBody, type Read } from './bodies.ts'
import { conditionsOf, type Ending } from './state.ts'

const BLOCKED_MS = 5_000

/** A kind whose objects are configuration of the relay and nothing else. */
export interface Declared {
  kind: Kind
  listed: Exclude<Listed, 'connectors'>
  /** The member of the status with the id. */
  id: string
  bodyOf: (deps: Deps, object: KubeObject, what: Read) => Promise<object>
  callsOf: (api: Postern) => Calls
}

/** The operations on a kind. The relay checks what they are given, as an object is written by people. */
interface Calls {
  create(input: { body: Body; projectId: string | undefined }): Promise<Body>
  upsert(input: { name: string; body: Body; projectId: string | undefined }): Promise<Body>
  get(input: { id: string }): Promise<Body>
  update(input: {
    id: string
    body: { data: { name: string } | { metadata: Record<string, string> } }
  }): Promise<Body>
  delete(input: { id: string }): Promise<undefined>
}

export const DECLARED: readonly Declared[] = [
  {
    kind: SOURCE,
    listed: 'sources',
    id: 'sourceId',
    bodyOf: sourceBody,
    callsOf: (api) => ({
      create: api.createSource,
      upsert: api.upsertSource,
      get: api.getSource,
      update: api.updateSource,
      delete: api.deleteSource,
    }),
  },
  {
    kind: DESTINATION,
    listed: 'destinations',
    id: 'destinationId',
    bodyOf: destinationBody,
    callsOf: (api) => ({
      create: api.createDestination,
      upsert: api.upsertDestination,
      get: api.getDestination,
      update: api.updateDestination,
      delete: api.deleteDestination,
    }),
  },
  {
    kind: CONNECTION,
    listed: 'connections',
    id: 'connectionId',
    bodyOf: connectionBody,
    callsOf: (api) => ({
      create: api.createConnection,
      upsert: api.upsertConnection,
      get: api.getConnection,
      update: api.updateConnection,
      delete: api.deleteConnection,
    }),
  },
]

/** The resource as it was last written, until a newer list has it. */
export type Written = Map<string, { hash: string; resource: Body; at: number }>

export async function reconcileDeclared(
  deps: Deps,
  declared: Declared,
  written: Written,
  key: string,
): Promise<Outcome> {
  const object = deps.world[declared.listed].get(key)
  if (object === undefined) return {}
  const isDeleted = object.metadata.deletionTimestamp !== undefined
  if (isDeleted && !hasFinalizer(object, FINALIZER)) return {}
  if (!isDeleted && object['spec'].suspend === true) {
    return await record(deps, declared, object, { ending: 'suspended' })
  }
  try {
    if (isDeleted) {
      await remove(deps, declared, object)
      written.delete(object.metadata.uid ?? '')
      return {}
    }
    const held = await hold(deps, declared.kind, object)
    const resource = await bringInLine(deps, declared, written, held)
    return await record(deps, declared, object, { ending: 'applied', resource })
  } catch (error) {
    if (error instanceof Wait) return { againMs: error.againMs }
    const problem = problemOf(error)
    if (problem === undefined) throw error
    return await record(deps, declared, object, { ending: problem })
  }
}

async function bringInLine(
  deps: Deps,
  { listed, id, bodyOf, callsOf }: Declared,
  written: Written,
  object: KubeObject,
): Promise<{ resource: Body; hash: string }> {
  const { spec, metadata, status } = object
  const resolved = await deps.relays.resolve(metadata.namespace ?? '', spec.relayRef.name)
  if (resolved.kind === 'missing') {
    throw new Halt(resolved.reason, resolved.message, { againMs: 60_000 })
  }
  const calls = callsOf(resolved.access.client.api)
  const poller = resolved.access.poller(listed, spec.projectId)
  const name: string = (spec.displayName ?? metadata.name).normalize('NFC')
  const texts = { ...spec.metadata, ...markersOf(deps.clusterId, object) }
  const body = { ...(await bodyOf(deps, object, 'value')), metadata: texts }
  // A status may be read by people who may not read Secrets: marks stand for their values.
  const marked = { ...(await bodyOf(deps, object, 'mark')), metadata: texts }
  const hash = createHash('sha256')
    .update(JSON.stringify([name, marked]))
    .digest('hex')
  const uid = metadata.uid ?? ''
  const found = find(poller, status?.[id], uid)
  const last = written.get(uid)
  // No list is newer than our write.
  if (last?.hash === hash && (poller.snapshot?.startedAt ?? 0) < last.at) return last
  const isSame = status?.applied?.hash === hash && status.applied.updatedAt === found?.updatedAt
  if (found !== undefined && isSame) return { resource: found.body, hash }
  const namesake = named(poller, name)
  const taken = found ?? namesake
  refuseForeign(deps, { listed, id }, object, [found, namesake])
  if (taken !== undefined && !deps.claims.take(taken.id, uid)) {
    throw new Halt('NameConflict', `Another object has "${taken.name}" (${taken.id})`)
  }
  if (found !== undefined && found.name !== name) {
    await calls.update({ id: found.id, body: { data: { name } } })
  }
  const { projectId } = spec
  const resource = taken
    ? await calls.upsert({ name, body, projectId })
    : await create(poller, calls, { body: { ...body, name }, projectId })
  deps.claims.take(resource.id, uid)
  written.set(uid, { hash, resource, at: performance.now() })
  poller.wish()
  return { resource, hash }
}

/** Never over a resource that the list does not show yet: it may be another object's. */
async function create(
  poller: Poller,
  calls: Calls,
  asked: { body: Body; projectId: string | undefined },
): Promise<Body> {
  try {
    return await calls.create(asked)
  } catch (error) {
    if (!hasCode(error, 'CONFLICT')) throw error
    poller.wish()
    throw new Wait()
  }
}

function named({ snapshot }: Poller, name: string): Item | undefined {
  return [...(snapshot?.items.values() ?? [])].find((item) => item.name === name)
}

function find(poller: Poller, id: string | undefined, uid: string): Item | undefined {
  const { snapshot } = poller
  if (snapshot === undefined) {
    poller.refuse()
    throw new Wait()
  }
  const listed = id === undefined ? undefined : snapshot.items.get(id)
  return listed ?? snapshot.byOwner.get(uid)
}

/** A resource of that name that nobody owns is taken over; one that belongs to another object is left alone. */
function refuseForeign(
  { clusterId, world }: Deps,
  { listed, id }: Pick<Declared, 'listed' | 'id'>,
  object: KubeObject,
  items: readonly (Item | undefined)[],
): void {
  const presenceOf = presenceIn(world, listed)
  for (const item of items) {
    if (item === undefined) continue
    const hasHad = object['status']?.[id] === item.id
    const adoption = { clusterId, object, isNamed: false, hasHad, presenceOf }
    const refusal = refusalOf(adoption, item.metadata)
    if (refusal !== undefined) {
      throw new Halt('NameConflict', `"${item.name}" (${item.id}) ${refusal}`)
    }
  }
}

async function remove(
  deps: Deps,
  { kind, listed, id, callsOf }: Declared,
  object: KubeObject,
): Promise<void> {
  const { spec, metadata, status } = object
  await endInRelay(deps, { kind, object }, (access) => {
    const found = find(access.poller(listed, spec.projectId), status?.[id], metadata.uid ?? '')
    const resourceId: string | undefined = status?.[id] ?? found?.id
    if (resourceId === undefined) return undefined
    const calls = callsOf(access.client.api)
    return {
      read: async () => await calls.get({ id: resourceId }),
      write: async (texts) =>
        await calls.update({ id: resourceId, body: { data: { metadata: texts } } }),
      remove: async () => await removeResource(calls, resourceId),
    }
  })
  await letGo(deps, kind, object)
}

async function removeResource(calls: Calls, id: string): Promise<void> {
  try {
    await calls.delete({ id })
  } catch (error) {
    if (error instanceof PosternError && error.status === 404) return
    if (!hasCode(error, 'CONFLICT')) throw error
    throw new Halt('DeletionBlocked', error.message, { againMs: BLOCKED_MS })
  }
}

interface Result {
  ending: Ending
  resource?: { resource: Body; hash: string }
}

/** Writes the status. */
async function record(
  deps: Deps,
  { kind, id }: Declared,
  object: KubeObject,
  { ending, resource: got }: Result,
): Promise<Outcome> {
  const { conditions: _, ...before } = object['status'] ?? {}
  const conditions = conditionsOf(ending)
  const [ready] = conditions
  const resource = got?.resource
  if (ready !== undefined) tellChange(deps, kind, object, ready)
  await writeStatus(deps, kind, object, {
    ...before,
    ...(resource !== undefined && {
      [id]: resource.id,
      ...(resource.ingestUrl !== undefined && { ingestUrl: resource.ingestUrl }),
      applied: { hash: got?.hash, updatedAt: resource.updatedAt },
    }),
    conditions,
  })
  return typeof ending === 'string' ? {} : { againMs: ending.againMs }
}

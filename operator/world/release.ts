import { PosternError } from '../../clients/typescript/index.ts'
import { inWords, isOwn, ownerOf, released } from '../relay/markers.ts'
import { Halt, problemOf } from '../relay/problem.ts'
import type { Access } from '../relay/relays.ts'
import type { Kind, KubeObject } from '../runtime/kube/object.ts'
import type { Deps } from './deps.ts'
import { deleteFromRelay, deletedForMs } from './lifecycle.ts'

/** So long a relay that does not answer holds an object whose resource stays. */
const LEAVE_MS = 45_000
const LEAVE_AGAIN_MS = 5_000

interface Ended {
  kind: Kind
  object: KubeObject
}

/** A resource of the relay, and what can be done with it. */
export interface Resource {
  read: () => Promise<{ metadata: Record<string, string> }>
  write: (metadata: Record<string, string>) => Promise<unknown>
  remove: () => Promise<unknown>
}

/**
 * Ends the part of an object in the relay: its resource is deleted, or released with `deletionPolicy: Retain`. `find`
 * returns undefined where there is none. A resource that another object has taken over is left alone.
 */
export async function endInRelay(
  deps: Deps,
  ended: Ended,
  find: (access: Access) => Resource | undefined,
): Promise<void> {
  const isRetained = ended.object['spec'].deletionPolicy === 'Retain'
  const end = async (access: Access): Promise<void> => {
    const resource = find(access)
    if (resource === undefined) return
    const metadata = await metadataOf(resource)
    if (metadata === undefined || isLeftToOwner(deps, ended, metadata)) return
    if (isRetained) await resource.write(released(metadata))
    else await resource.remove()
  }
  await (isRetained ? release(deps, ended, end) : deleteFromRelay(deps, ended, end))
}

/** Undefined when it is gone. */
async function metadataOf({ read }: Resource): Promise<Record<string, string> | undefined> {
  try {
    return (await read()).metadata
  } catch (error) {
    if (error instanceof PosternError && error.status === 404) return undefined
    throw error
  }
}

function isLeftToOwner(
  { clusterId, recorder }: Deps,
  { kind, object }: Ended,
  metadata: Record<string, string>,
): boolean {
  const owner = ownerOf(metadata)
  if (owner === undefined || isOwn(clusterId, object, owner)) return false
  const note = `The resource of the relay stays: it belongs to ${inWords(owner)}`
  recorder.tell(kind, object, { type: 'Normal', reason: 'LeftToOwner', action: 'Deleting', note })
  return true
}

/** A resource that stays needs no relay: one that is away is waited for shortly. */
async function release(
  deps: Deps,
  { kind, object }: Ended,
  work: (access: Access) => Promise<void>,
): Promise<void> {
  const { namespace = '' } = object.metadata
  try {
    const resolved = await deps.relays.resolve(namespace, object['spec'].relayRef.name)
    const access = resolved.kind === 'ready' ? resolved.access : resolved.last
    if (access !== undefined) return await work(access)
    if (resolved.kind === 'missing') throw new Halt(resolved.reason, resolved.message, again)
  } catch (error) {
    if (deletedForMs(object) < LEAVE_MS) throw soon(error)
    deps.recorder.tell(kind, object, {
      type: 'Warning',
      reason: 'LeftUnreleased',
      action: 'Deleting',
      note: 'The relay cannot be told that this object leaves its resource: an object of another cluster that takes it over needs the annotation postern.dev/adopt-from',
    })
  }
}

const again = { againMs: LEAVE_AGAIN_MS }

function soon(error: unknown): unknown {
  const problem = problemOf(error)
  return problem === undefined ? error : new Halt(problem.reason, problem.message, again)
}

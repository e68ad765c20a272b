import { isDeepStrictEqual } from 'node:util'

import { GROUP } from '../kinds/parts.ts'
import { Halt } from '../relay/problem.ts'
import type { Access, Resolved } from '../relay/relays.ts'
import { isStatus } from '../runtime/kube/api-error.ts'
import type { Kind, KubeObject } from '../runtime/kube/object.ts'
import { stateConditions, type Condition, type Stated } from '../runtime/objects/conditions.ts'
import { hasFinalizer, withFinalizer, withoutFinalizer } from '../runtime/objects/ownership.ts'
import { MANAGED_BY } from './child-kinds.ts'
import type { Deps } from './deps.ts'

/** Holds an object until its resource of the relay is gone. */
export const FINALIZER = `${GROUP}/relay-resource`

/**
 * An object that is being deleted is let go when the Relay or the Secret with the key has been gone for this long, and
 * nothing of them is known any more. (docs/kubernetes/conditions.md)
 */
const GONE_MS = 45_000
/** A key that the relay refuses may be replaced by a good one; after this time nobody seems to care. */
const REFUSED_MS = 300_000

/** Before anything is made in the relay, the object is held: it cannot go without us. */
export async function hold({ kube }: Deps, kind: Kind, object: KubeObject): Promise<KubeObject> {
  if (hasFinalizer(object, FINALIZER)) return object
  return await kube.merge(kind, object.metadata, withFinalizer(object, FINALIZER))
}

export async function letGo({ kube }: Deps, kind: Kind, object: KubeObject): Promise<void> {
  try {
    await kube.merge(kind, object.metadata, withoutFinalizer(object, FINALIZER))
  } catch (error) {
    if (!isStatus(error, 404)) throw error
  }
}

/** How to talk to the relay of an object that is being deleted; undefined when it is let go without. */
export function accessToDelete(
  deps: Deps,
  { kind, object }: { kind: Kind; object: KubeObject },
  resolved: Resolved,
): Access | undefined {
  const forMs = deletedForMs(object)
  const access = resolved.kind === 'ready' ? resolved.access : resolved.last
  const isRefused = access?.client.standing?.kind === 'refused'
  if (access !== undefined && !(isRefused && forMs > REFUSED_MS)) return access
  if (resolved.kind === 'missing' && access === undefined && forMs < GONE_MS) {
    throw new Halt(resolved.reason, resolved.message, { againMs: GONE_MS - forMs + 500 })
  }
  deps.recorder.tell(kind, object, {
    type: 'Warning',
    reason: 'ReleasedWithoutDeletion',
    action: 'Deleting',
    note:
      access === undefined
        ? 'The Relay or its key is gone: what belongs to this object in the relay stays there'
        : 'The relay refuses the key: what belongs to this object in the relay stays there',
  })
  return undefined
}

export function deletedForMs({ metadata }: KubeObject): number {
  return Date.now() - Date.parse(metadata.deletionTimestamp ?? '')
}

/** Writes the status if it differs from the one that is there. */
export async function writeStatus(
  { kube }: Deps,
  kind: Kind,
  object: KubeObject,
  { conditions, ...members }: { conditions: readonly Stated[] } & Record<string, unknown>,
): Promise<void> {
  const { generation = 0, name, namespace, resourceVersion: _ } = object.metadata
  const before: { conditions?: Condition[] } = object['status'] ?? {}
  const at = { generation, now: new Date().toISOString().replace(/\.\d+Z$/, 'Z') }
  const status = plain({
    ...members,
    observedGeneration: generation,
    conditions: stateConditions(before.conditions ?? [], conditions, at),
  })
  if (isDeepStrictEqual(status, plain(before))) return
  const applied = { fieldManager: `${MANAGED_BY}-status`, subresource: 'status' as const }
  try {
    await kube.apply(kind, { metadata: { name, namespace: namespace ?? '' }, status }, applied)
  } catch (error) {
    if (!isStatus(error, 404)) throw error
  }
}

/** As JSON has it: members that are undefined are absent. */
function plain(value: object): object {
  return sorted(JSON.parse(JSON.stringify(value)))
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => a.localeCompare(b)))
}

/** Events are told on changes, not each time. */
export function tellChange(
  { recorder }: Deps,
  kind: Kind,
  object: KubeObject,
  ready: Stated | undefined,
): void {
  const before: Condition | undefined = object['status']?.conditions?.find(
    ({ type }: Condition) => type === 'Ready',
  )
  if (ready === undefined || (before?.status === ready.status && before.reason === ready.reason))
    return
  recorder.tell(kind, object, {
    type: ready.status === 'False' ? 'Warning' : 'Normal',
    reason: ready.reason,
    action: 'Reconciling',
    note: ready.message,
  })
}

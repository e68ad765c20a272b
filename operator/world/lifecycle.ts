import { isDeepStrictEqual } from 'node:util'

import { GROUP } from '../kinds/parts.ts'
import type { Fault } from '../kinds/reasons.ts'
import { Halt, problemOf, type Problem } from '../relay/problem.ts'
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
 * How long an object that is being deleted waits before it is let go although its resource may be there, when nothing is
 * known of how to talk to its relay. (docs/kubernetes/conditions.md)
 */
const GONE_MS = 45_000
/** A key that the relay refuses may be replaced by a good one; after this time nobody seems to care. */
const REFUSED_MS = 300_000
/** A relay whose Relay is gone has no other way to say that it does not come back. An outage does not last so long. */
const AWAY_MS = 86_400_000
/** Faults that only somebody with another key, or another project, can mend. */
const REFUSALS: ReadonlySet<Fault> = new Set([
  'CredentialsInvalid',
  'InsufficientPermissions',
  'RemoteMissing',
])

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

/**
 * Deletes what belongs to an object in the relay. Where that cannot be done, the object waits for a time and is let go
 * without: it would hold its namespace for ever.
 */
export async function deleteFromRelay(
  deps: Deps,
  { kind, object }: { kind: Kind; object: KubeObject },
  work: (access: Access) => Promise<void>,
): Promise<void> {
  const { namespace = '' } = object.metadata
  const resolved = await deps.relays.resolve(namespace, object['spec'].relayRef.name)
  try {
    await work(accessOf(resolved))
  } catch (error) {
    const problem = problemOf(error)
    const leftMs = patienceMs(resolved, problem) - deletedForMs(object)
    if (leftMs > 0) throw soon(error, problem, leftMs)
    const why = problem?.message ?? 'The relay gives no answer of use'
    deps.recorder.tell(kind, object, {
      type: 'Warning',
      reason: 'ReleasedWithoutDeletion',
      action: 'Deleting',
      note: `${why}: what belongs to this object in the relay stays there`,
    })
  }
}

/** A Relay that is gone is known as it was. */
function accessOf(resolved: Resolved): Access {
  if (resolved.kind === 'ready') return resolved.access
  const { last, reason, message } = resolved
  if (last === undefined) throw new Halt(reason, message)
  return last
}

/** How long a deletion that fails is tried again. While its Relay is there, somebody counts on the relay. */
function patienceMs(resolved: Resolved, problem: Problem | undefined): number {
  if (problem !== undefined && REFUSALS.has(problem.reason)) return REFUSED_MS
  if (resolved.kind === 'ready') return Number.POSITIVE_INFINITY
  if (resolved.last === undefined) return GONE_MS
  return resolved.last.client.hasSucceeded ? AWAY_MS : REFUSED_MS
}

/** The same fault, which is looked at again when patience ends. */
function soon(error: unknown, problem: Problem | undefined, leftMs: number): unknown {
  if (problem === undefined) return error
  const againMs = Math.min(problem.againMs, leftMs + 500)
  return new Halt(problem.reason, problem.message, { againMs })
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

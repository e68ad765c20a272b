import { Halt } from '../../relay/problem.ts'
import { ApiError } from '../../runtime/kube/api-error.ts'
import type { KubeClient } from '../../runtime/kube/client.ts'
import type { KubeObject } from '../../runtime/kube/object.ts'
import { MANAGED_BY, STATEFUL_SET } from '../../world/child-kinds.ts'
import type { Child } from './children.ts'

const AGAIN_MS = 60_000
/** By the API server, a quota or an admission webhook. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 422])
/** The API server's word for members that cannot be read, which it takes for its own fault. */
const UNREADABLE = /failed to (?:create typed patch object|convert new object)/
/** Its only cause: a spec that is wrong as well would leave the pods without a StatefulSet. */
const NEVER_CHANGES = /is invalid: spec: Forbidden: updates to statefulset spec/

/** Applies a child. A refusal is told in the status: only another spec, or more rights, can help. */
export async function applyChild(kube: KubeClient, { kind, object }: Child): Promise<KubeObject> {
  try {
    return await kube.apply(kind, object, { fieldManager: MANAGED_BY })
  } catch (error) {
    if (!isRefusal(error)) throw error
    if (kind === STATEFUL_SET && NEVER_CHANGES.test(error.message)) {
      // The pods stay, and get a new StatefulSet of the same name.
      await kube.delete(kind, object.metadata, 'Orphan')
      throw error
    }
    throw new Halt('ChildRefused', `${kind.kind}: ${error.message}`, { againMs: AGAIN_MS })
  }
}

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (REFUSALS.has(error.status) || UNREADABLE.test(error.message))
}

import type { Item } from '../relay/poller.ts'
import type { PodFault } from './pods/agent-pod.ts'

/** Things that this process knows of a Connector before its caches do. All of it can be found out again. */
export interface Memory {
  /** When this process first looked at the object. */
  since: number
  /** When a POST last went out: a list from before says nothing of its outcome. */
  triedAt: number
  /** The connector as it was made or changed, until a newer list has it. */
  made: { item: Item; at: number } | undefined
  /** The version of the Secret whose key is good. */
  enrolled: { version: string } | undefined
  /** Put-backs of a child in a row. */
  putBacks: Map<string, { text: string; count: number; at: number }>
  /** Sessions for which the replicas were last asked for. */
  detailedAt: string | undefined
  /** Since when pods of the generation are waited for; undefined while nothing was said of it since the start. */
  progress: { generation: number; since: number } | 'none' | undefined
  /** The last answer about pods that Kubernetes does not make. */
  refused: { at: number; fault: PodFault | undefined } | undefined
}

/** When each roll of a StatefulSet was first seen. */
export type RollingSince = Map<string, number>

export class Memories {
  readonly rollingSince: RollingSince = new Map()
  readonly #byUid = new Map<string, Memory>()

  of(uid: string): Memory {
    const found = this.#byUid.get(uid)
    if (found !== undefined) return found
    const made: Memory = {
      since: performance.now(),
      triedAt: Number.NEGATIVE_INFINITY,
      made: undefined,
      enrolled: undefined,
      putBacks: new Map(),
      detailedAt: undefined,
      progress: undefined,
      refused: undefined,
    }
    this.#byUid.set(uid, made)
    return made
  }

  forget(uid: string): void {
    this.#byUid.delete(uid)
  }
}

import type { KubeClient } from '../../runtime/kube/client.ts'
import type { Kind, KubeObject } from '../../runtime/kube/object.ts'
import type { Memory } from '../memory.ts'
import type { PodFault } from './agent-pod.ts'

const EVENT: Kind = { group: '', version: 'v1', kind: 'Event', plural: 'events' }
const ASK_AGAIN_MS = 10_000
/** The controller of StatefulSets tries at least so often. */
const FRESH_MS = 1_200_000
const WORDS_MAX = 400

/**
 * Why Kubernetes makes no pods of a StatefulSet: a quota, an admission, an account that there is not. Its status does not say so, the
 * events of its controller do.
 */
export async function refusedPods(
  kube: KubeClient,
  memory: Memory,
  statefulSet: KubeObject,
): Promise<PodFault | undefined> {
  const now = performance.now()
  const last = memory.refused
  if (last !== undefined && now - last.at < ASK_AGAIN_MS) return last.fault
  const { namespace, uid = '' } = statefulSet.metadata
  const fields = `involvedObject.uid=${uid},reason=FailedCreate`
  const { items } = await kube.list(EVENT, { namespace, fields })
  const message = items.toSorted((a, b) => timeOf(b) - timeOf(a)).find(isFresh)?.['message']
  const fault =
    typeof message === 'string'
      ? ({ reason: 'PodsRefused', message: message.slice(0, WORDS_MAX) } as const)
      : undefined
  memory.refused = { at: now, fault }
  return fault
}

function isFresh(event: KubeObject): boolean {
  return Date.now() - timeOf(event) < FRESH_MS
}

function timeOf(event: KubeObject): number {
  const { lastTimestamp, series, eventTime } = event
  return Date.parse(
    series?.lastObservedTime ??
      lastTimestamp ??
      eventTime ??
      event.metadata.creationTimestamp ??
      '',
  )
}

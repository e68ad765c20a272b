import { isStalled, type Reason } from '../kinds/reasons.ts'
import { RELAY } from '../kinds/relay.ts'
import type { Access } from '../relay/relays.ts'
import { splitKey } from '../runtime/kube/object.ts'
import type { Stated } from '../runtime/objects/conditions.ts'
import type { Outcome } from '../runtime/queue/controller.ts'
import type { Deps } from '../world/deps.ts'
import { tellChange, writeStatus } from '../world/lifecycle.ts'

const LOOK_MS = 60_000
/** A call that was made so recently says how the relay is. */
const RECENT_MS = 30_000

type Word = Omit<Stated, 'type'> & { reason: Reason }

/** Says whether the relay answers, and takes the key. */
export async function reconcileRelay(deps: Deps, key: string): Promise<Outcome> {
  const relay = deps.world.relays.get(key)
  if (relay === undefined || relay.metadata.deletionTimestamp !== undefined) return {}
  const { namespace, name } = splitKey(key)
  const resolved = await deps.relays.resolve(namespace, name)
  const word: Word =
    resolved.kind === 'ready'
      ? await standingOf(resolved.access)
      : { status: 'False', reason: resolved.reason, message: resolved.message }
  const ready = { type: 'Ready', ...word }
  const stalled = {
    type: 'Stalled',
    status: 'True' as const,
    reason: word.reason,
    message: word.message,
  }
  const isLasting = word.status === 'False' && isStalled(word.reason)
  tellChange(deps, RELAY, relay, ready)
  await writeStatus(deps, RELAY, relay, { conditions: isLasting ? [ready, stalled] : [ready] })
  return { againMs: LOOK_MS }
}

async function standingOf({ client }: Access): Promise<Word> {
  if (client.isLate) {
    return {
      status: 'Unknown',
      reason: 'RelayUnavailable',
      message: 'The relay has not answered for 2 s',
    }
  }
  const last = client.standing
  const isRecent = last !== undefined && performance.now() - last.at < RECENT_MS
  if (!isRecent) {
    await client.patientApi.listConnectors({ limit: 1 }).catch(() => {})
  }
  const { kind, message } = client.standing ?? {
    kind: 'away',
    message: 'The relay has not answered yet',
  }
  if (kind === 'refused') return { status: 'False', reason: 'CredentialsInvalid', message }
  if (kind === 'forbidden') return { status: 'False', reason: 'RelayNotAllowed', message }
  if (kind === 'foreign') return { status: 'Unknown', reason: 'NotPostern', message }
  if (kind === 'away') return { status: 'Unknown', reason: 'RelayUnavailable', message }
  const { lacked } = client
  if (lacked.length === 0) return { status: 'True', reason: 'Reachable', message }
  return {
    status: 'False',
    reason: 'InsufficientPermissions',
    message: `The relay has refused the API key these calls: ${lacked.join(', ')}`,
  }
}

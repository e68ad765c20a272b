import { RELAY } from '../kinds/relay.ts'
import type { Resolved } from '../relay/relays.ts'
import { splitKey } from '../runtime/kube/object.ts'
import type { Outcome } from '../runtime/queue/controller.ts'
import type { Deps } from '../world/deps.ts'
import { tellChange, writeStatus } from '../world/lifecycle.ts'
import { conditionsOf, type Facts } from './state.ts'

const LOOK_MS = 60_000
/** A call that was made so recently says how the relay is. */
const RECENT_MS = 30_000

/** Writes to the status whether the relay answers and takes the key. */
export async function reconcileRelay(deps: Deps, key: string): Promise<Outcome> {
  const relay = deps.world.relays.get(key)
  if (relay === undefined || relay.metadata.deletionTimestamp !== undefined) return {}
  const { namespace, name } = splitKey(key)
  const conditions = conditionsOf(await factsOf(await deps.relays.resolve(namespace, name)))
  const [ready] = conditions
  if (ready !== undefined) tellChange(deps, RELAY, relay, ready)
  await writeStatus(deps, RELAY, relay, { conditions })
  return { againMs: LOOK_MS }
}

async function factsOf(resolved: Resolved): Promise<Facts> {
  if (resolved.kind === 'missing') return resolved
  const { client } = resolved.access
  const { standing, isLate } = client
  const isRecent = standing !== undefined && performance.now() - standing.at < RECENT_MS
  if (!isRecent && !isLate) await client.patientApi.listConnectors({ limit: 1 }).catch(() => {})
  return { kind: 'ready', isLate, standing: client.standing, lacked: client.lacked }
}

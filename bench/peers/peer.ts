import type { Target } from '../traffic.ts'

/** A relay that can be measured beside Postern. Each is a file of this folder, listed in `all.ts`. */
export interface Peer {
  name: string
  /** Why it cannot be measured on this machine; undefined when it can. */
  missing(): string | undefined
  /** The versions of its parts, for the report. */
  version(): string
  /** Resolves once it takes webhooks and sends them to `destination`. */
  start(destination: string): Promise<RunningPeer>
}

export interface RunningPeer extends AsyncDisposable {
  target: Target
  /** The processes that it needs, stores included: their CPU counts with that of all their children. */
  pids(): number[]
  /** Kills its own processes one after another, as kill -9 does. Resolves once they run again. */
  kill: () => Promise<void>
  /** The same for its stores, where they are processes of their own. */
  killStores?: () => Promise<void>
}

/** Postern's preset `github` and every peer here take requests that this secret signs. */
export const SECRET = 'bench-secret'

export const BODY_BYTES = 1_024

/** Requests under way to the destination, as Postern's `maxConcurrency` in these runs. */
export const CONCURRENCY = 64

export function targetOf(url: string): Target {
  return { url: new URL(url), secret: SECRET, bodyBytes: BODY_BYTES }
}

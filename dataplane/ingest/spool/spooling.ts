import type { Registry } from 'prom-client'

import { every } from '../../every.ts'
import { Drain, type DrainDeps } from './drain.ts'
import { Outage } from './outage.ts'
import { measureSpool } from './spool-metrics.ts'
import { Spool, type SpoolSettings } from './spool.ts'

/** How soon a spool that came back is used, and how soon PostgreSQL is. */
const LOOK_MS = 500

type OpenDeps = Pick<DrainDeps, 'db' | 'log'> &
  Pick<ConstructorParameters<typeof Outage>[0], 'identity'> &
  ConstructorParameters<typeof Spool>[0]

/** Parts that accept events while PostgreSQL is away. */
export interface Spooling {
  spool: Spool
  outage: Outage
  isAway: () => boolean
}

export function openSpooling(deps: OpenDeps, settings: SpoolSettings): Spooling {
  const spool = new Spool(deps, settings)
  const outage = new Outage({ ...deps, spool })
  return { spool, outage, isAway: () => outage.isAway }
}

/** Looks after the spool until aborted: that it is there, whether PostgreSQL is back, and what is to be stored. */
export async function runSpooling(
  { spool, outage }: Spooling,
  deps: Omit<DrainDeps, 'spool' | 'outage'> & { registry: Registry },
  signal: AbortSignal,
): Promise<void> {
  const drain = new Drain({ ...deps, spool, outage })
  measureSpool(deps.registry, { spool, outage, drain })
  const options = (name: string) => ({ signal, log: deps.log, name })
  await Promise.all([
    every(LOOK_MS, options('spool'), () => spool.look()),
    every(LOOK_MS, options('probe'), () => outage.probe()),
    every(LOOK_MS, options('drain'), () => drain.run(signal)),
  ])
  await spool[Symbol.asyncDispose]()
}

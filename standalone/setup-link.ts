import { setTimeout as sleep } from 'node:timers/promises'

import { linkUrl, makeSetupLink } from '../api/accounts/people/links.ts'
import type { Clock } from '../core/clock.ts'
import { hasOwner } from '../core/db/accounts/memberships.ts'
import { openDb, openPool, type Db } from '../core/db/connection/db.ts'
import { openLog } from '../core/log.ts'
import type { Addresses } from './addresses.ts'

const LOOK_MS = 3_000

export interface SetupOptions {
  databaseUrl: string
  clock: Clock
  addresses: Addresses
}

/**
 * Makes the address at which the first owner of the dashboard makes their account; null when there is an owner. Tells
 * `onOwner` when there is one later.
 */
export async function openSetup(
  stack: AsyncDisposableStack,
  { databaseUrl, clock, addresses }: SetupOptions,
  onOwner: () => void,
): Promise<string | null> {
  const log = openLog('silent', 'standalone')
  const db = openDb(openPool({ url: databaseUrl, max: 1, log }))
  const link = await makeSetupLink({ db, clock })
  if (link === undefined) {
    await db.destroy()
    return null
  }
  const stop = new AbortController()
  const watched = watch(db, stop.signal, onOwner)
  stack.defer(async () => {
    stop.abort()
    await watched
  })
  return linkUrl(addresses.api.url, 'setup', link.token)
}

async function watch(db: Db, stop: AbortSignal, onOwner: () => void): Promise<void> {
  let isFound = false
  while (!isFound && !stop.aborted) {
    await sleep(LOOK_MS, undefined, { signal: stop }).catch(() => {})
    // The database may be away for a while.
    isFound = await hasOwner(db).catch(() => false)
  }
  await db.destroy()
  if (isFound) onOwner()
}

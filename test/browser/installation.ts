import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { TestProject } from 'vitest/node'

import { startRelay } from '../faults/relay.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { Told, type Told as Installation } from './told.ts'

declare module 'vitest' {
  interface ProvidedContext {
    dashboard: Installation
  }
}

/** Journeys of one machine make more requests than people do. */
const LIMITS = {
  SIGN_INS_PER_MINUTE: '100000',
  AUTH_CALLS_PER_MINUTE: '100000',
  SIGN_UPS_PER_DAY: '1000',
  API_REQUESTS_PER_MINUTE: '100000',
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(scratch(IN_MEMORY))
  const relay = stack.use(
    await startRelay({ DATA_DIR: join(path, 'relay'), SMTP_PORT: '0', ...LIMITS }),
  )
  project.provide('dashboard', toldIn(relay.dataDir))
  const owned = stack.move()
  return async () => await owned.disposeAsync()
}

function toldIn(dataDir: string): Installation {
  return Told.parse(JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8')))
}

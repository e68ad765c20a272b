import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { TestProject } from 'vitest/node'
import { z } from 'zod'

import { startRelay } from '../faults/relay.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'

const Told = z.object({ apiUrl: z.url(), ingestUrl: z.url(), gatewayUrl: z.url() })

/** The relay as `npm start` runs it, the same for every file of the suite. */
interface Installation extends z.infer<typeof Told> {
  dataDir: string
  /** Holds the milliseconds that all its processes are ahead of the system's clock. */
  clockFile: string
  /** Where endpoints listen: the one private address that deliveries may reach. */
  endpointHost: string
  ingestPid: number
}

declare module 'vitest' {
  interface ProvidedContext {
    installation: Installation
  }
}

const ENDPOINT_HOST = '127.0.0.2'

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(scratch(IN_MEMORY))
  const clockFile = join(path, 'clock')
  writeFileSync(clockFile, '0')
  const DATA_DIR = join(path, 'relay')
  const allowed = { DELIVERY_ALLOW_CIDRS: `${ENDPOINT_HOST}/32`, SMTP_PORT: '0' }
  const relay = stack.use(await startRelay({ DATA_DIR, TEST_CLOCK_FILE: clockFile, ...allowed }))
  const { dataDir } = relay
  const told = Told.parse(JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8')))
  const ingestPid = relay.role('ingest')
  const endpointHost = ENDPOINT_HOST
  project.provide('installation', { ...told, dataDir, clockFile, endpointHost, ingestPid })
  const owned = stack.move()
  return async () => await owned.disposeAsync()
}

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { TestProject } from 'vitest/node'

import { startRelay } from '../faults/relay.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { startCluster } from './cluster.ts'

declare module 'vitest' {
  interface ProvidedContext {
    clusterDir: string
    relayDir: string
  }
}

const run = promisify(execFile)
const CRDS = fileURLToPath(new URL('../../crds', import.meta.url))

/** A control plane with our kinds, and a whole relay, for all files. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using stack = new AsyncDisposableStack()
  await run(fileURLToPath(new URL('build.sh', import.meta.url)))
  const cluster = await startCluster()
  stack.defer(async () => await cluster.stop())
  await cluster.kubectl('apply', '-f', CRDS)
  await cluster.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s')
  const { path } = stack.use(scratch(IN_MEMORY))
  const relay = stack.use(
    await startRelay({ DATA_DIR: path, API_REQUESTS_PER_MINUTE: '600', LOG_LEVEL: 'warn' }),
  )
  project.provide('clusterDir', cluster.dir)
  project.provide('relayDir', relay.dataDir)
  const owned = stack.move()
  return async () => await owned.disposeAsync()
}

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { answersOk } from '../standalone/processes/answers-ok.ts'
import { COMPILE_CACHE, roleArguments } from '../standalone/processes/node-settings.ts'
import { freePorts } from '../standalone/processes/ports.ts'
import type { Installation } from './installation.ts'

const READY_MS = 30_000
const LOOK_MS = 50

/** A further process of a role, beside the supervisor's. */
export interface RoleBeside extends AsyncDisposable {
  pid: number
  /** Where it takes events; of ingest only. */
  ingestPort: number
}

/** The supervisor runs one process a role: a further one gets the same services and the same key, as in a cluster. `settings` are added to its environment. */
export async function startBeside(
  installation: Installation,
  role: 'ingest' | 'worker',
  settings: Record<string, string> = {},
): Promise<RoleBeside> {
  const { dataDir, databaseUrl, natsUrl } = installation
  const [opsPort = 0, ingestPort = 0] = await freePorts(2)
  // As the supervisor's do, it writes its log to a file.
  const log = openSync(join(dataDir, 'logs', `${role}-2.log`), 'a')
  const child = fork(`dataplane/${role}/main.ts`, {
    execArgv: roleArguments(role),
    stdio: ['ignore', log, log, 'ipc'],
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...process.env,
      ...settings,
      DATABASE_URL: databaseUrl,
      NATS_URL: natsUrl,
      POSTERN_ENCRYPTION_KEY_FILE: join(dataDir, 'encryption-key'),
      DELIVERY_ALLOW_CIDRS: '127.0.0.0/8',
      INSTANCE_NAME: `bench-${role}-2`,
      OPS_PORT: String(opsPort),
      INGEST_PORT: String(ingestPort),
    },
  })
  closeSync(log)
  const pid = child.pid ?? 0
  const deadline = performance.now() + READY_MS
  while (!(await answersOk(`http://127.0.0.1:${opsPort}/readyz`))) {
    const isOver = child.exitCode !== null || performance.now() > deadline
    if (isOver) throw new Error(`A second ${role} does not start`)
    await sleep(LOOK_MS)
  }
  installation.besides.add(pid)
  return {
    pid,
    ingestPort,
    async [Symbol.asyncDispose]() {
      installation.besides.delete(pid)
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

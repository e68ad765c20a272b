import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Installation } from './installation.ts'

const ONLINE_MS = 30_000
const LOOK_MS = 50

/** A connector with an agent beside the relay. */
export interface Way extends AsyncDisposable {
  /** Members of a destination that is reached through it. */
  destination: object
}

/** Resolves when the agent has its session. */
export async function openWay(
  installation: Installation,
  services: readonly string[],
): Promise<Way> {
  const name = `bench ${randomUUID()}`
  const { id, enrollmentKey } = await installation.call('POST', '/v1/connectors', { name })
  const log = openSync(join(installation.dataDir, 'logs', 'agent.log'), 'a')
  const child = spawn(process.execPath, ['connector-agent/main.ts'], {
    env: {
      ...process.env,
      POSTERN_URL: installation.apiUrl,
      POSTERN_ENROLLMENT_KEY: String(enrollmentKey),
      POSTERN_ALLOW: services.map((url) => new URL(url).origin).join(','),
      POSTERN_ALLOW_LOOPBACK: 'true',
      STATE_DIR: join(installation.dataDir, name),
      INSTANCE_NAME: name,
    },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const pid = child.pid ?? 0
  installation.besides.add(pid)
  const deadline = performance.now() + ONLINE_MS
  const isOnline = async (): Promise<boolean> =>
    (await installation.call('GET', `/v1/connectors/${String(id)}`))['onlineReplicas'] === 1
  while (!(await isOnline())) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error('No agent')
    await sleep(LOOK_MS)
  }
  return {
    destination: { mode: 'private', connectorId: id },
    async [Symbol.asyncDispose]() {
      installation.besides.delete(pid)
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

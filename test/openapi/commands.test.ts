import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { startRelay } from '../faults/relay.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'

/** The commands of a page that a reader pastes one after the other: its blocks marked `sh run`. */
function commandsOf(page: string): string[] {
  const text = readFileSync(`docs/${page}`, 'utf8')
  return [...text.matchAll(/^( *)```sh run\n(.*?)^\1```/gms)].map(([, , code = '']) => code)
}

test('the commands of Start, Recover and Migrating do what the pages say, one after the other', async () => {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(scratch(IN_MEMORY))
  stack.use(await startRelay({ DATA_DIR: join(path, '.postern') }))
  const start = commandsOf('start.md')
  const recover = commandsOf('recover.md')
  expect(start.length).toBe(5)
  expect(recover.length).toBe(6)
  const migrating = commandsOf('migrating.md')
  expect(migrating.length).toBe(1)
  const script = [...start, 'echo "== recover"', ...recover, ...migrating, ...migrating].join('\n')
  const bash = ['-euo', 'pipefail', '-c', script]
  const { stdout } = await promisify(execFile)('bash', bash, { cwd: path, timeout: 60_000 })
  const [told = '', recovered = ''] = stdout.split('== recover')
  expect(told).toContain('"verdict"')
  expect(told).toContain('delivered')
  expect(told).toContain('"mode":"private"')
  expect(recovered.match(/"kind":"(?:retry|replay)"/g)?.length).toBe(5)
})

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { startRole } from './role.ts'

/** Notes its port, and the first time ends as one does that finds it taken. */
const PROGRAM = `
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
appendFileSync(process.env.NOTES, process.env.OPS_PORT + '\\n')
if (readFileSync(process.env.NOTES, 'utf8').split('\\n').length === 2) process.exit(1)
createServer((_, response) => response.end()).listen(Number(process.env.OPS_PORT), '127.0.0.1')
`

test('startRole() starts a role that found its port taken on another one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-role-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const [main, notes] = [join(directory, 'main.mjs'), join(directory, 'notes')]
  writeFileSync(main, PROGRAM)
  const said: string[] = []
  await using role = startRole({
    name: 'ingest',
    main,
    env: { NOTES: notes },
    log: join(directory, 'log'),
    host: '127.0.0.1',
    print: (line) => said.push(line),
    stop: new AbortController().signal,
  })
  await role.ready()
  const ports = readFileSync(notes, 'utf8').trim().split('\n')
  expect(ports).toHaveLength(2)
  expect(ports[1]).not.toBe(ports[0])
  expect(said).toEqual([expect.stringMatching(/^ingest ended \(exit 1\), starting it again/)])
})

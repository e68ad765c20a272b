import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { freePort } from './processes/ports.ts'
import { startRole } from './role.ts'

/** Notes its port, and ends the first time. */
const PROGRAM = `
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
appendFileSync(process.env.NOTES, process.env.OPS_PORT + '\\n')
if (readFileSync(process.env.NOTES, 'utf8').split('\\n').length === 2) process.exit(1)
createServer((_, response) => response.setHeader('postern-process', process.pid).end()).listen(Number(process.env.OPS_PORT), '127.0.0.1')
`

function openRole(said: string[], opsPort: number, onPort: () => void = () => {}) {
  const directory = mkdtempSync(join(tmpdir(), 'postern-role-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const [main, notes] = [join(directory, 'main.mjs'), join(directory, 'notes')]
  writeFileSync(main, PROGRAM)
  const told: number[] = []
  const role = startRole({
    name: 'ingest',
    main,
    env: { NOTES: notes },
    log: join(directory, 'log'),
    host: '127.0.0.1',
    opsPort,
    print: (line) => said.push(line),
    onPort: (port) => {
      told.push(port)
      onPort()
    },
    stop: new AbortController().signal,
  })
  return { role, told, ports: () => readFileSync(notes, 'utf8').trim().split('\n').map(Number) }
}

test('startRole() starts a role again that ended, on the port that it has for good', async () => {
  const said: string[] = []
  const opsPort = await freePort()
  const { role, told, ports } = openRole(said, opsPort)
  await using _role = role
  await role.ready()
  expect(ports()).toEqual([opsPort, opsPort])
  expect(told).toEqual([opsPort, opsPort])
  expect(said).toEqual([expect.stringMatching(/^ingest ended \(exit 1\), starting it again/)])
})

test('startRole() gives a role whose port another program uses a free one, and tells it', async () => {
  const opsPort = await freePort()
  const stranger = createServer().listen(opsPort, '127.0.0.1')
  await once(stranger, 'listening')
  onTestFinished(() => void stranger.close())
  const { role, told, ports } = openRole([], opsPort)
  await using _role = role
  await role.ready()
  expect(ports()).not.toContain(opsPort)
  expect(told).toEqual(ports())
})

test('startRole() is not ready by the answer of another program that took its port first', async () => {
  const opsPort = await freePort()
  const stranger = createHttpServer((_, response) => response.end())
  onTestFinished(() => void stranger.close())
  const { role, told, ports } = openRole([], opsPort, () => {
    if (!stranger.listening) stranger.listen(opsPort, '127.0.0.1')
  })
  await using _role = role
  await role.ready()
  expect(told).toEqual([opsPort, expect.any(Number)])
  expect(ports()).toEqual(told)
})

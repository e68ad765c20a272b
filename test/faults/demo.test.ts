import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { waitFor } from '../../standalone/processes/os-process.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { startRelay } from './relay.ts'

const List = z.object({ data: z.array(z.unknown()) })
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Demo {
  child: ChildProcess
  said: () => string
  ended: Promise<unknown>
}

function startDemo(dataDir: string): Demo {
  const child = spawn(process.execPath, ['standalone/demo.ts'], {
    cwd: ROOT,
    env: { ...SURROUNDINGS, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  }
  return { child, said: () => text, ended: once(child, 'exit').then(([code]: unknown[]) => code) }
}

test('npm run demo says that no relay runs, and ends with code 1', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-demo-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const { said, ended } = startDemo(dataDir)
  expect(await ended).toBe(1)
  expect(said()).toContain(`The relay in ${dataDir} does not run. Start it with npm start`)
  expect(said().trim().split('\n')).toHaveLength(2)
})

test('npm run demo delivers what is posted, and removes what it and a killed one made', async () => {
  await using relay = await startRelay()
  const made = async (): Promise<number[]> =>
    await Promise.all(
      ['sources', 'destinations', 'connections'].map(async (resource) => {
        const list = await relay.api('GET', `/v1/${resource}`)
        return List.parse(list).data.length
      }),
    )
  const killed = startDemo(relay.dataDir)
  expect(await waitFor(() => killed.said().includes('Ctrl-C ends'), 20_000)).toBe(true)
  killed.child.kill('SIGKILL')
  await killed.ended
  expect(await made()).toEqual([1, 1, 1])

  const demo = startDemo(relay.dataDir)
  expect(await waitFor(() => demo.said().includes('Ctrl-C ends'), 20_000)).toBe(true)
  expect(demo.said()).toContain('Removed what an earlier demo left behind')
  expect(await made()).toEqual([1, 1, 1])
  const post = /EVENT=\$\(.*; echo "\$EVENT"/.exec(demo.said())?.[0] ?? ''
  const shell = spawn('sh', ['-c', post], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [id] = await once(shell.stdout, 'data')
  expect(String(id)).toMatch(/^evt_\w+\n$/)
  expect(await waitFor(() => demo.said().includes('attempt 2, answered 200'), 20_000)).toBe(true)
  demo.child.kill('SIGINT')
  expect(await demo.ended).toBe(0)
  expect(demo.said()).toContain('Removed what the demo made')
  expect(await made()).toEqual([0, 0, 0])
})

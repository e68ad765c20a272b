import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

import { expect, test } from 'vitest'

const LINES = 1_000

const LOG = new URL('log.ts', import.meta.url).href

function outputOf(script: string): string {
  const args = ['--input-type=module', '--eval', script]
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout
}

test.for([
  ['ends', ''],
  ['exits', 'process.exit(0)'],
  ['dies of an error', `throw new Error('broken')`],
])('a process that %s has written every line, in order', ([, end]) => {
  const script = `
    import { openLog } from '${LOG}'
    const log = openLog('info', 'test')
    for (let n = 0; n < ${LINES}; n++) log.info({ n }, 'A line')
    ${end}`
  const lines = outputOf(script).trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).n)).toEqual([...Array(LINES).keys()])
})

test('lines say when they were written, to the millisecond', () => {
  const times = [0, 7, 42, 999, 1_000, 61_234, 1_700_000_000_005, 999]
  const script = `
    import { openLog } from '${LOG}'
    const log = openLog('info', 'test')
    for (const now of ${JSON.stringify(times)}) {
      Date.now = () => now
      log.info('A line')
    }`
  const lines = outputOf(script).trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).time)).toEqual(
    times.map((ms) => new Date(ms).toISOString()),
  )
})

test('lines are written within a second, however few there are', () => {
  const script = `
    import { openLog } from '${LOG}'
    openLog('info', 'test').info('A line')
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 1000)`
  expect(JSON.parse(outputOf(script))).toMatchObject({ level: 'info', role: 'test', msg: 'A line' })
})

test('a log that nobody reads gathers lines alone, no listeners', async () => {
  const script = `
    const { setInterval: real } = globalThis
    globalThis.setInterval = (act, ms, ...given) => real(act, ms / 50, ...given)
    const { openLog } = await import('${LOG}')
    const log = openLog('info', 'test')
    for (let n = 0; n < 10_000; n++) log.info({ n }, 'A line')
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500)`
  const args = ['--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [warnings] = await Promise.all([text(child.stderr), once(child, 'exit')])
  expect(warnings).toBe('')
})

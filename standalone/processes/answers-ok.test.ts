import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

import { expect, onTestFinished, test } from 'vitest'

import { answersOk } from './answers-ok.ts'

const MODULE = fileURLToPath(new URL('answers-ok.ts', import.meta.url))

async function answering(status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end()).listen(
    0,
    '127.0.0.1',
  )
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/readyz`
}

test.for([
  [200, true],
  [204, true],
  [302, false],
  [503, false],
] as const)('answersOk() of a %i is %s', async ([status, expected]) => {
  expect(await answersOk(await answering(status))).toBe(expected)
})

test('answersOk() of a port that nothing listens on is false', async () => {
  expect(await answersOk('http://127.0.0.1:1/readyz')).toBe(false)
})

test('answersOk() goes through no proxy, also where Node is told to use one', () => {
  const script = `
    import { createServer } from 'node:http'
    import { answersOk } from ${JSON.stringify(MODULE)}
    const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1', async () => {
      console.log(await answersOk('http://127.0.0.1:' + server.address().port + '/readyz'))
      server.close()
    })`
  const proxy = 'http://127.0.0.1:1'
  const env = {
    NODE_USE_ENV_PROXY: '1',
    HTTP_PROXY: proxy,
    http_proxy: proxy,
  }
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    env,
    encoding: 'utf8',
  })
  expect(stdout.trim()).toBe('true')
})

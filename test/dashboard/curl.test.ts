import { execFile } from 'node:child_process'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { curlOf } from '../../dashboard/src/pages/event/curl.ts'
import { startEndpoint, type Arrival, type Endpoint } from '../kit/endpoint.ts'

interface Sent {
  method: string
  headers: string[][]
  query: string[][]
  body: Buffer
}

let endpoint: Endpoint
const files = mkdtempDisposableSync(join(tmpdir(), 'curl-'))

beforeAll(async () => {
  writeFileSync(join(files.path, 'id_rsa'), 'KEY')
  endpoint = await startEndpoint()
})
afterAll(async () => {
  await endpoint[Symbol.asyncDispose]()
  files.remove()
})

/** Runs the command as a shell does, beside the file. */
async function run({ body, ...request }: Sent): Promise<Arrival> {
  const isBinary = !Buffer.from(body.toString()).equals(body)
  const raw = isBinary ? body.toString('latin1') : body.toString()
  const rawBase64 = body.toString('base64')
  const command = curlOf({ ...request, raw, rawBase64, isBinary }, endpoint.url)
  const ran = promisify(execFile)('bash', ['-c', `${command} --silent --max-time 10`], {
    cwd: files.path,
  })
  ran.child.stdin?.end('typed')
  await ran
  const arrival = endpoint.arrivals.pop()
  if (arrival === undefined) throw new Error('curl sent nothing')
  return arrival
}

const post = { method: 'POST', headers: [], query: [] }

test.for<[string, string | Buffer]>([
  ['a file by its path', '@/etc/hostname'],
  ['a file of the folder', '@id_rsa'],
  ['standard input', '@-'],
  ['a file to encode', 'a@id_rsa'],
  ['an option of curl', '--output id_rsa'],
  ['the end of a quote', `'; cat id_rsa #`],
  ['commands of a shell', '$(cat id_rsa) `cat id_rsa` ${HOME} !! \\'],
  ['lines', 'a\r\nb\n\n\tc\n'],
  ['keys of a terminal', 'x\u0015\u001b[201~\rcat id_rsa\r'],
  ['a C1 control character', 'x\u009b201~'],
  ['bytes that are no text', Buffer.from([0, 255, 64, 10])],
  ['letters', 'Grüße 🎉'],
])('a body that looks like %s is sent as it came', async ([, text]) => {
  const body = Buffer.from(text)
  const got = await run({ ...post, body })
  expect(got.body.toString('latin1')).toBe(body.toString('latin1'))
  expect(got.headers).not.toHaveProperty('content-type')
})

test('headers are those that came, also without a value, and no file', async () => {
  const headers = [
    ['Content-Type', 'application/json'],
    ['X-Empty', ''],
    ['X-At', '@id_rsa'],
    ['x-quote', `it's "$HOME"`],
    ['@id_rsa', 'x'],
    ['x-keys', 'a\u001bb'],
  ]
  const got = await run({ ...post, headers, body: Buffer.from('{}') })
  expect(got.rawHeaders).toEqual(expect.arrayContaining(headers.slice(0, 4)))
  expect(JSON.stringify(got.rawHeaders)).not.toMatch(/KEY|x-keys/)
})

test.for(['GET', 'HEAD', 'DELETE', 'PUT'])('%s keeps its method and query', async (method) => {
  const query = [
    ['a[0]', "{1,2} 'x'&y"],
    ['empty', ''],
  ]
  const got = await run({ method, headers: [], query, body: Buffer.alloc(0) })
  expect(got).toMatchObject({ method, body: Buffer.alloc(0) })
  expect([...new URL(got.target, endpoint.url).searchParams]).toEqual(query)
})

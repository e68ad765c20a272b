import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'

import { expect, test } from 'vitest'

import { type HeaderPair, isRepeated, joinHeaders } from './headers.ts'

const NAMES = [
  'Age',
  'Authorization',
  'Content-Type',
  'Cookie',
  'ETag',
  'Expires',
  'From',
  'If-Modified-Since',
  'If-Unmodified-Since',
  'Last-Modified',
  'Location',
  'Max-Forwards',
  'Proxy-Authorization',
  'Referer',
  'Retry-After',
  'Server',
  'User-Agent',
  'Accept',
  'Date',
  'Via',
  'X-Forwarded-For',
  'X-Hub-Signature',
  'constructor',
]

test('joinHeaders() joins as Node joins, whatever the name and its case', async () => {
  const server = createServer()
  const seen = new Promise<IncomingMessage>((resolve) => {
    server.once('request', (request, response) => {
      resolve(request)
      response.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const lines = NAMES.flatMap((name) => [`${name}: a`, `${name.toUpperCase()}: b`, `${name}:`])
  const socket = connect(port, '127.0.0.1')
  socket.end(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n`)
  const { headers, rawHeaders } = await seen
  server.close()
  const pairs = Array.from({ length: rawHeaders.length / 2 }, (_, n): HeaderPair => [
    rawHeaders[2 * n] ?? '',
    rawHeaders[2 * n + 1] ?? '',
  ])
  expect({ ...joinHeaders(pairs) }).toEqual(headers)
})

test('names of prototypes are headers like any other, or none', () => {
  expect(joinHeaders([])['constructor']).toBeUndefined()
  expect(joinHeaders([['__proto__', 'a']])['__proto__']).toBe('a')
})

test.for<[pairs: HeaderPair[], repeated: boolean]>([
  [[['X-A', 'a, b']], false],
  [
    [
      ['X-A', 'a'],
      ['x-a', 'b'],
    ],
    true,
  ],
  [
    [
      ['X-A', 'a'],
      ['x-b', 'b'],
    ],
    false,
  ],
])('isRepeated() tells two headers from one with a comma: %j', ([pairs, repeated]) => {
  expect(isRepeated('x-a', joinHeaders(pairs)['x-a'] ?? '', pairs)).toBe(repeated)
  const first = pairs.map(([name, value]): HeaderPair => [name.replace(/x-a/i, 'Host'), value])
  expect(isRepeated('host', joinHeaders(first)['host'] ?? '', first)).toBe(repeated)
})

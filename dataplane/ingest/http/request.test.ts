import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'

import { expect, test } from 'vitest'

import type { IngestRequest } from '../accept/event.ts'
import { readRequest } from './request.ts'

async function requestOf(head: string): Promise<IngestRequest> {
  const read = Promise.withResolvers<IngestRequest>()
  const server = createServer((raw, response) => {
    read.resolve(readRequest(raw, { target: raw.url ?? '', remoteIp: '192.0.2.1' }))
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('Cannot listen')
  const socket = connect(address.port, '127.0.0.1')
  socket.end(`POST /mask/rest?q=1 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${head}\r\n`)
  socket.resume()
  const request = await read.promise
  await once(socket, 'close')
  server.close()
  return request
}

test.for([
  ['no cookie is set', ''],
  ['two are', 'set-cookie: a=1\r\nset-cookie: b=2\r\n'],
])('repeated headers are joined, and kept as they came, when %s', async ([, cookies]) => {
  const request = await requestOf(`X-Twice: 1\r\nx-twice: 2\r\n${cookies}`)
  expect(request).toMatchObject({ maskId: 'mask', path: '/rest', query: 'q=1' })
  expect(request.headers['x-twice']).toBe('1, 2')
  expect(request.headers['set-cookie']).toBe(cookies === '' ? undefined : 'a=1, b=2')
  expect(request.rawHeaders).toContainEqual(['X-Twice', '1'])
  expect(request.rawHeaders).toContainEqual(['x-twice', '2'])
})

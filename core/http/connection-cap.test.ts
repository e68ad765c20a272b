import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'

import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

import { compileCidrs } from '../egress/address.ts'
import { capConnections } from './connection-cap.ts'

const REFUSAL = 'HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\n\r\n'

async function open(
  trusted: string[],
  registry = new Registry(),
  log = pino({ level: 'silent' }),
  networkMax?: number,
): Promise<Server> {
  const server = createServer((_request, response) => response.end('taken'))
  const cap = { max: 2, trusted: compileCidrs(trusted), refusal: REFUSAL }
  capConnections(server, { ...cap, registry, log, ...(networkMax !== undefined && { networkMax }) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function dial(server: Server, localAddress = '127.0.0.1'): Promise<Socket> {
  const at = server.address()
  const port = typeof at === 'object' ? (at?.port ?? 0) : 0
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

async function ask(socket: Socket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const [chunk] = await once(socket, 'data')
  return String(chunk).slice(0, 12)
}

test('an address that has as many connections as it may is told so, and others are taken', async () => {
  await using server = await open([])
  const held = [await dial(server), await dial(server)]
  const third = await dial(server)
  expect(await ask(third)).toBe('HTTP/1.1 429')
  await once(third, 'close')
  expect(await Promise.all(held.map(ask))).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
  const other = await dial(server, '127.0.0.2')
  expect(await ask(other)).toBe('HTTP/1.1 200')
  held[0]?.destroy()
  await expect.poll(async () => await ask(await dial(server))).toBe('HTTP/1.1 200')
  server.closeAllConnections()
})

test('addresses of a network that has as many connections as it may are refused, and those beside it are taken', async () => {
  await using server = await open([], new Registry(), pino({ level: 'silent' }), 3)
  const held = [await dial(server), await dial(server), await dial(server, '127.0.0.2')]
  expect(await ask(await dial(server, '127.0.0.3'))).toBe('HTTP/1.1 429')
  expect(await ask(await dial(server, '127.0.1.1'))).toBe('HTTP/1.1 200')
  held[0]?.destroy()
  await expect.poll(async () => await ask(await dial(server, '127.0.0.3'))).toBe('HTTP/1.1 200')
  server.closeAllConnections()
})

test('a trusted proxy has as many connections as it likes', async () => {
  await using server = await open(['127.0.0.0/24'])
  const sockets = await Promise.all(Array.from({ length: 6 }, async () => await dial(server)))
  expect(new Set(await Promise.all(sockets.map(ask)))).toEqual(new Set(['HTTP/1.1 200']))
  server.closeAllConnections()
})

test('refused connections are counted, and a line says so at once and not for each', async () => {
  const registry = new Registry()
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })
  await using server = await open([], registry, log)
  const held = [await dial(server), await dial(server)]
  for (let n = 0; n < 5; n++) expect(await ask(await dial(server))).toBe('HTTP/1.1 429')
  expect(await registry.metrics()).toContain('postern_refused_connections_total 5')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      msg: 'Refused connections of an address',
      address: '127.0.0.1',
      max: 2,
      refused: 1,
    }),
  ])
  for (const socket of held) socket.destroy()
  server.closeAllConnections()
})

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

import { SMTPServer } from 'smtp-server'
import { afterEach, expect, test, vi } from 'vitest'

import { SMTP_CONNECTIONS_MAX, SMTP_WITHOUT_MAIL_SECONDS } from '../../../core/limits.ts'
import { Connections } from './connections.ts'

afterEach(() => void vi.useRealTimers())

async function open(stack: AsyncDisposableStack): Promise<{ port: number; server: SMTPServer }> {
  const server = new SMTPServer({ authOptional: true, disableReverseLookup: true, logger: false })
  stack.use(new Connections(server))
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  stack.defer(() => {
    for (const connection of server.connections) connection.close()
    server.close()
  })
  const address = server.server.address()
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 }
}

/** Everything that a server says on a connection. */
interface Client {
  socket: Socket
  heard: string
}

function dial(port: number, localAddress: string, stack: AsyncDisposableStack): Client {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  const client: Client = { socket, heard: '' }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => (client.heard += String(chunk)))
  stack.defer(() => void socket.destroy())
  return client
}

test('a connection without a message ends, whatever commands it sends', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  await using stack = new AsyncDisposableStack()
  const { port } = await open(stack)
  const client = dial(port, '127.0.0.2', stack)
  await vi.waitFor(() => expect(client.heard).toMatch(/^220 /))
  for (let seconds = 0; seconds < SMTP_WITHOUT_MAIL_SECONDS; seconds += 20) {
    vi.advanceTimersByTime(20_000)
    client.socket.write('NOOP\r\n')
    await once(client.socket, 'data')
  }
  expect(client.heard).not.toContain('421')
  vi.advanceTimersByTime(2_000)
  await vi.waitFor(() => expect(client.heard).toContain('421 4.4.2 No message came'))
})

test('silent connections of any number of addresses give way to the next client', async () => {
  await using stack = new AsyncDisposableStack()
  const { port, server } = await open(stack)
  const silent = Array.from({ length: SMTP_CONNECTIONS_MAX }, (_, at) =>
    dial(port, `127.0.${at % 50}.2`, stack),
  )
  await vi.waitFor(() => expect(server.connections.size).toBe(SMTP_CONNECTIONS_MAX), {
    timeout: 10_000,
  })
  const other = dial(port, '127.0.99.2', stack)
  await vi.waitFor(() => expect(other.heard).toMatch(/^220 /), { timeout: 10_000 })
  const ended = silent.filter(({ heard }) => heard.includes('421 4.3.2'))
  expect(ended).toHaveLength(1)
}, 30_000)

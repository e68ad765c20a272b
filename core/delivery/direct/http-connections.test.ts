import { once } from 'node:events'
import { createServer } from 'node:http'

import { expect, onTestFinished, test } from 'vitest'

import { directTransport } from './exchange.ts'
import { Connections } from './http-connections.ts'

/** A server that keeps connections open for as long as it is let. */
async function serve(): Promise<{ origin: string; open(): Promise<number>; answer(): void }> {
  const server = createServer((_, response) => void waiting.push(() => response.end('ok')))
  const waiting: (() => void)[] = []
  server.keepAliveTimeout = 120_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    origin: `http://127.0.0.1:${port}`,
    open: async () =>
      await new Promise((resolve) => server.getConnections((_, count) => resolve(count))),
    answer: () => {
      for (const end of waiting.splice(0)) end()
    },
  }
}

type Server = Awaited<ReturnType<typeof serve>>

/** Sends so many requests at once for a holder, and has them answered when all have come. */
async function send(
  connections: Connections,
  server: Server,
  holder: string,
  count: number,
): Promise<(number | null)[]> {
  const transport = directTransport(connections)
  const request = {
    origin: server.origin,
    holder,
    tenant: holder,
    path: '/',
    headers: [],
    timeoutMs: 5_000,
  }
  const sending = Array.from(
    { length: count },
    async () => await transport({ ...request, method: 'POST', body: Buffer.from('{}') }),
  )
  await expect.poll(() => server.open()).toBeGreaterThanOrEqual(count)
  const answering = setInterval(() => server.answer(), 5)
  const answers = await Promise.all(sending)
  clearInterval(answering)
  return answers.map(({ status }) => status)
}

test('a holder keeps no more idle connections than are left to all', async () => {
  const connections = new Connections(() => () => {}, 10)
  const server = await serve()
  expect(await send(connections, server, 'a', 8)).toEqual(Array(8).fill(200))
  await expect.poll(() => server.open()).toBeLessThanOrEqual(5)
  expect(await server.open()).toBeGreaterThanOrEqual(4)
  await connections.close()
})

test('a request gets a connection in place of an idle one when there are too many', async () => {
  const connections = new Connections(() => () => {}, 4)
  const server = await serve()
  await send(connections, server, 'a', 2)
  await send(connections, server, 'b', 1)
  const idle = await server.open()
  expect(idle).toBeGreaterThan(1)
  expect(await send(connections, server, 'c', 4)).toEqual(Array(4).fill(200))
  await expect.poll(() => server.open()).toBeLessThanOrEqual(4)
  await connections.close()
})

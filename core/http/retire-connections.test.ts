import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'

import { Client } from 'undici'
import { expect, test } from 'vitest'

import { retireConnections } from './retire-connections.ts'

const KEEP_MS = 60_000

async function listening(answer: (response: ServerResponse) => void) {
  const stack = new AsyncDisposableStack()
  const server = createServer((_request, response) => answer(response))
  server.keepAliveTimeout = KEEP_MS
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => server.closeAllConnections())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const open = (): Client =>
    stack.adopt(new Client(`http://127.0.0.1:${port}`), async (client) => await client.destroy())
  return { server, open, [Symbol.asyncDispose]: async () => await stack.disposeAsync() }
}

async function ask(client: Client): Promise<unknown> {
  const { headers, body } = await client.request({ path: '/', method: 'GET' })
  await body.dump()
  return headers['connection']
}

test('connections, kept and new, are answered and closed by their answer', async () => {
  await using relay = await listening((response) => response.end('ok'))
  const kept = relay.open()
  expect(await ask(kept)).toBe('keep-alive')
  const retired = retireConnections(relay.server)
  expect(await ask(kept)).toBe('close')
  expect(await ask(relay.open())).toBe('close')
  await retired
  const closed = once(relay.server, 'close')
  relay.server.close()
  await closed
})

test('a request that outlasts it is answered, and its kept connection ends with the server', async () => {
  const begun = Promise.withResolvers<ServerResponse>()
  await using relay = await listening(begun.resolve)
  const answered = ask(relay.open())
  const response = await begun.promise
  await retireConnections(relay.server)
  const closed = once(relay.server, 'close')
  relay.server.close()
  response.end('ok')
  expect(await answered).toBe('keep-alive')
  await closed
}, 10_000)

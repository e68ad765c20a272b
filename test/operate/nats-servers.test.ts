import { createServer } from 'node:net'

import { pino } from 'pino'
import { expect, inject, test } from 'vitest'

import { connectNats } from '../../core/jetstream/connect-nats.ts'

const SILENT = pino({ level: 'silent' })

/** A port of this machine where nothing listens. */
async function deadPort(): Promise<number> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const address = server.address()
  await new Promise((done) => server.close(done))
  if (address === null || typeof address === 'string') throw new Error('No port')
  return address.port
}

test('a role connects to any NATS server of the list, whichever is down', async () => {
  const live = inject('natsUrl')
  const url = new URL(live)
  url.port = String(await deadPort())
  const dead = url.href
  for (const list of [`${dead},${live}`, `${live},${dead}`]) {
    const nats = await connectNats(list, 'test', SILENT)
    expect(nats.isClosed()).toBe(false)
    await nats.close()
  }
})

test('without any server of the list, the fault names all of them', async () => {
  const hosts = [await deadPort(), await deadPort()].map((port) => `127.0.0.1:${port}`)
  const urls = hosts.map((host) => `nats://${host}`).join(',')
  await expect(connectNats(urls, 'test', SILENT)).rejects.toThrow(hosts.join(', '))
})

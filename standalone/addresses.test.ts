import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

import { expect, test } from 'vitest'

import { readSettings } from '../core/config.ts'
import { chooseAddresses, urlOn } from './addresses.ts'
import { freePort, freePorts, isFree } from './processes/ports.ts'

test.for(['127.0.0.1', '0.0.0.0', '::'])(
  'chooseAddresses() names the variable whose port a program uses on %s',
  async (host) => {
    const port = await freePort()
    const other = createServer().listen(port, host)
    await once(other, 'listening')
    try {
      const settings = readSettings({ API_PORT: '0', INGEST_PORT: String(port) })
      await expect(chooseAddresses(settings, false)).rejects.toThrow(`INGEST_PORT ${port} is used`)
    } finally {
      other.close()
    }
  },
)

test('chooseAddresses() finds free ports for 0 and keeps configured URLs', async () => {
  const settings = readSettings({
    API_PORT: '0',
    INGEST_PORT: '0',
    API_URL: 'https://api.example.com/',
  })
  const { api, ingest } = await chooseAddresses(settings, false)
  expect(api.url).toBe('https://api.example.com')
  expect(ingest.url).toBe(`http://127.0.0.1:${ingest.port}`)
  expect(await isFree(api.port)).toBe(true)
})

test('chooseAddresses() names both ports when programs use both', async () => {
  const strangers = [0, 0].map((port) => createServer().listen(port, '127.0.0.1'))
  await Promise.all(strangers.map((stranger) => once(stranger, 'listening')))
  const [api, ingest] = strangers.map((stranger) => portOf(stranger))
  try {
    const settings = readSettings({ API_PORT: String(api), INGEST_PORT: String(ingest) })
    const refused = chooseAddresses(settings, false)
    await expect(refused).rejects.toThrow(`API_PORT ${api} is used by another program`)
    await expect(refused).rejects.toThrow(`INGEST_PORT ${ingest} is used by another program`)
  } finally {
    for (const stranger of strangers) stranger.close()
  }
})

test('chooseAddresses() says once that HOST is no address of this machine', async () => {
  const settings = readSettings({ HOST: '192.0.2.1', API_PORT: '0', INGEST_PORT: '0' })
  await expect(chooseAddresses(settings, false)).rejects.toMatchObject({
    faults: ['HOST "192.0.2.1" is no address of this machine'],
  })
})

test('chooseAddresses() takes OPS_PORT and the next ports for the metrics of the roles, on loopback', async () => {
  const first = await freeSpan()
  const base = { HOST: '0.0.0.0', API_PORT: '0', INGEST_PORT: '0' }
  const { ops } = await chooseAddresses(readSettings({ ...base, OPS_PORT: String(first) }), false)
  const [api, ingest, worker, housekeeper, gateway] = [0, 1, 2, 3, 4].map((n) => first + n)
  expect(ops).toEqual({ host: '127.0.0.1', ports: { api, ingest, worker, housekeeper, gateway } })
  const free = await chooseAddresses(readSettings({ ...base, OPS_PORT: '0' }), false)
  expect(new Set(Object.values(free.ops.ports)).size).toBe(5)
})

test('chooseAddresses() refuses an OPS_PORT of which a program uses one of its ports', async () => {
  const first = await freeSpan()
  const stranger = createServer().listen(first + 2, '127.0.0.1')
  await once(stranger, 'listening')
  try {
    const settings = readSettings({ API_PORT: '0', INGEST_PORT: '0', OPS_PORT: String(first) })
    await expect(chooseAddresses(settings, false)).rejects.toThrow(`OPS_PORT ${first + 2} is used`)
  } finally {
    stranger.close()
  }
})

test.for<[given: Record<string, string>, words: string]>([
  [{ OPS_PORT: '65533' }, 'none is above 65535'],
  [{ API_PORT: '20003', OPS_PORT: '20000' }, 'the roles have ports 20000 to 20004, and 20003 is'],
])('chooseAddresses() refuses ports of metrics that cannot be: %j', async ([given, words]) => {
  const settings = readSettings({ API_PORT: '0', INGEST_PORT: '0', ...given })
  await expect(chooseAddresses(settings, false)).rejects.toThrow(words)
})

/** The first of five ports that nothing uses. */
async function freeSpan(): Promise<number> {
  for (;;) {
    const first = await freePort()
    const rest = await Promise.all([1, 2, 3, 4].map(async (n) => await isFree(first + n)))
    if (rest.every(Boolean)) return first
  }
}

test.for([
  ['127.0.0.1', 'http://127.0.0.1:80'],
  ['0.0.0.0', 'http://127.0.0.1:80'],
  ['::', 'http://127.0.0.1:80'],
  ['::1', 'http://[::1]:80'],
  ['192.0.2.1', 'http://192.0.2.1:80'],
] as const)('urlOn(%s) is an address that a program of this machine can use', ([host, url]) => {
  expect(urlOn(host, 80)).toBe(url)
})

function portOf(server: Server): number {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('It does not listen')
  return address.port
}

test('freePort() gives no port again that was given a moment ago: its server may not listen yet', async () => {
  const ports: number[] = []
  for (let n = 0; n < 500; n++) ports.push(await freePort())
  expect(new Set(ports).size).toBe(ports.length)
})

test('freePorts() finds ports of their own, none of which an outgoing connection may take meanwhile', async () => {
  const ports = await freePorts(20)
  expect(new Set(ports).size).toBe(20)
  expect(Math.max(...ports)).toBeLessThan(32_768)
})

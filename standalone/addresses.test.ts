import { once } from 'node:events'
import { createServer } from 'node:net'

import { expect, test } from 'vitest'

import { readSettings } from '../core/config.ts'
import { chooseAddresses } from './addresses.ts'
import { freePort, freePorts, isFree } from './ports.ts'

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

test('chooseAddresses() refuses one port for both', async () => {
  const port = String(await freePort())
  const settings = readSettings({ API_PORT: port, INGEST_PORT: port })
  await expect(chooseAddresses(settings, false)).rejects.toThrow('are both')
})

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

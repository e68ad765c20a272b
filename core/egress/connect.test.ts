import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { isIPv4 } from 'node:net'

import { Agent, request } from 'undici'
import { expect, test } from 'vitest'

import { compileCidrs, isReachable } from './address.ts'
import { checkUrl, guardedLookup, type IsAllowed, literalAddressOf } from './connect.ts'
import { Names } from './names.ts'

const names = new Names()

interface Loopback extends AsyncDisposable {
  port: number
  paths: string[]
}

async function startLoopback(): Promise<Loopback> {
  const paths: string[] = []
  const server: Server = createServer((incoming, response) => {
    paths.push(incoming.url ?? '')
    response.statusCode = incoming.url === '/redirect' ? 302 : 200
    response.setHeader('location', '/target')
    response.end('reached')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    port,
    paths,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await server[Symbol.asyncDispose]()
    },
  }
}

function allowing(...cidrs: string[]): IsAllowed {
  const allowed = compileCidrs(cidrs)
  return (ip) => isReachable(ip, allowed)
}

/** Dials as a socket does: the literal check, then the guarded resolution. */
async function dial(url: string, isAllowed: IsAllowed): Promise<{ status: number; text: string }> {
  const fault = checkUrl(new URL(url), isAllowed)
  if (fault !== undefined) throw new Error(fault)
  const agent = new Agent({ connect: { lookup: guardedLookup(isAllowed, names) } })
  try {
    const { statusCode, body } = await request(url, { dispatcher: agent })
    return { status: statusCode, text: await body.text() }
  } finally {
    await agent.destroy()
  }
}

test('a name that resolves to a refused address is not connected to', async () => {
  await using loopback = await startLoopback()
  await expect(dial(`http://localhost:${loopback.port}/`, allowing())).rejects.toMatchObject({
    code: 'ADDRESS_BLOCKED',
  })
  expect(loopback.paths).toEqual([])
})

test('a name that resolves to an opened address is connected to', async () => {
  await using loopback = await startLoopback()
  const url = `http://localhost:${loopback.port}/in`
  expect(await dial(url, allowing('127.0.0.0/8'))).toEqual({ status: 200, text: 'reached' })
  expect(loopback.paths).toEqual(['/in'])
})

test.for(['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]'])(
  'the literal %s is refused, and dialled when its range is open',
  async (host) => {
    await using loopback = await startLoopback()
    const url = `http://${host}:${loopback.port}/in`
    await expect(dial(url, allowing())).rejects.toThrow('is private or reserved')
    expect(loopback.paths).toEqual([])
    expect(await dial(url, allowing('127.0.0.0/8'))).toMatchObject({ status: 200 })
  },
)

test('a redirect is an answer, and is not followed', async () => {
  await using loopback = await startLoopback()
  const url = `http://localhost:${loopback.port}/redirect`
  expect(await dial(url, allowing('127.0.0.0/8'))).toMatchObject({ status: 302 })
  expect(loopback.paths).toEqual(['/redirect'])
})

test('guardedLookup() passes the failure of a name that does not exist', async () => {
  await expect(dial('http://nothing.invalid/', allowing())).rejects.toMatchObject({
    code: expect.stringMatching(/^(?:ENOTFOUND|EAI_AGAIN)$/),
  })
})

test('guardedLookup() hands a socket the checked addresses only', async () => {
  const all = await looked('localhost', isIPv4, true)
  expect(all).toEqual([{ address: '127.0.0.1', family: 4 }])
  expect(await looked('localhost', isIPv4, false)).toEqual(['127.0.0.1', 4])
})

function looked(host: string, isAllowed: IsAllowed, all: boolean): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const lookup = guardedLookup(isAllowed, names)
    lookup(host, { all }, (error, address: string | LookupAddress[], family) => {
      if (error) reject(error)
      else resolve(Array.isArray(address) ? address : [address, family])
    })
  })
}

test.for([
  ['http://127.0.0.1/', '127.0.0.1'],
  ['http://2130706433/', '127.0.0.1'],
  ['http://0x7f.1/', '127.0.0.1'],
  ['http://017700000001/', '127.0.0.1'],
  ['http://127.0.0.1./', '127.0.0.1'],
  ['http://１２７.0.0.1/', '127.0.0.1'],
  ['https://[::1]:8443/', '::1'],
  ['http://[::ffff:169.254.169.254]/', '::ffff:a9fe:a9fe'],
  ['http://localhost/', undefined],
  ['http://127.0.0.1.example.com/', undefined],
] as const)('literalAddressOf(%s) is %s', ([url, expected]) => {
  expect(literalAddressOf(new URL(url))).toBe(expected)
})

test.for([
  ['http://example.com/', undefined],
  ['https://1.1.1.1/', undefined],
  ['http://localhost/', undefined],
  ['http://[::1]/', 'address ::1 is private or reserved'],
  ['http://169.254.169.254/latest', 'address 169.254.169.254 is private or reserved'],
  ['ftp://example.com/', 'must be http or https'],
  ['file:///etc/passwd', 'must be http or https'],
] as const)('checkUrl(%s) says %s', ([url, expected]) => {
  expect(checkUrl(new URL(url), allowing())).toBe(expected)
})

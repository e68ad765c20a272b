import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { parseAllow } from '../../core/egress/allow-list.ts'
import { Names } from '../../core/egress/names.ts'
import { openDestinations } from './destinations.ts'
import { performer } from './perform.ts'
import { RecentAnswers } from './recent-answers.ts'

const own = Object.values(networkInterfaces()).flatMap((list) => list ?? [])

/** Where a name may lead that nobody should follow. */
const ADDRESSES = [
  ...`127.0.0.1 127.0.0.2 127.1.2.3 127.255.255.254 ::1 0.0.0.0 0.1.2.3 :: ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1
  64:ff9b::7f00:1 64:ff9b::127.0.0.1 2002:7f00:1:: ::ffff:0:127.0.0.1 169.254.169.254 169.254.1.1
  ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe:: fd00:ec2::254 fd20:ce::254 168.63.129.16
  100.100.100.200 fe80::1 febf::1 224.0.0.1 239.255.255.250 ff02::1 255.255.255.255 240.0.0.1 192.0.2.1
  198.51.100.7 203.0.113.9 198.18.0.1 2001:db8::1 3fff::1 2001::1 192.0.0.8`.split(/\s+/),
  ...own.map(({ address }) => address.split('%')[0] ?? address),
]

async function listenEverywhere() {
  const heard: string[] = []
  const server = createServer((socket) => {
    heard.push(socket.localAddress ?? '')
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  }).listen(0, '::')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { heard, port, [Symbol.dispose]: () => void server.close() }
}

function hostsFile(lines: readonly string[]): string {
  const file = join(mkdtempSync(join(tmpdir(), 'hosts-')), 'hosts')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function openPerform(rules: readonly string[], hosts: string, allowLoopback = false) {
  const destinations = openDestinations(
    {
      POSTERN_ALLOW: rules.map(parseAllow),
      POSTERN_ALLOW_LOOPBACK: allowLoopback,
      DESTINATION_CA: undefined,
      CLIENT_CERT: undefined,
      CLIENT_KEY: undefined,
    },
    new Names({ hostsFile: hosts }),
  )
  const perform = performer({ ...destinations, recent: new RecentAnswers(), performed: () => {} })
  return async (url: string) => {
    const head = {
      attemptId: crypto.randomUUID(),
      method: 'POST',
      url,
      headers: [],
      bodyBytes: 0,
      timeoutMs: 5_000,
    }
    return await perform(head, nothing(), new AbortController().signal)
  }
}

test('no name that leads to a forbidden address is dialled, whatever the rules cover', async () => {
  using everywhere = await listenEverywhere()
  const { port, heard } = everywhere
  const hosts = hostsFile(ADDRESSES.map((address, at) => `${address} name-${at}.internal`))
  const request = openPerform([`*.internal:${port}`, `0.0.0.0/0:${port}`, `[::]/0:${port}`], hosts)
  for (const [at, address] of ADDRESSES.entries()) {
    const answer = await request(`http://name-${at}.internal:${port}/`)
    expect(answer, address).toMatchObject({
      kind: 'failure',
      failure: { code: 'host_not_allowed', isUnsent: true },
    })
  }
  expect(heard).toEqual([])
  expect(ADDRESSES.length).toBeGreaterThan(39)
})

test('when a name has several addresses only one that a rule opens is dialled', async () => {
  using everywhere = await listenEverywhere()
  const { port, heard } = everywhere
  const hosts = hostsFile(['169.254.169.254 mixed', '::1 mixed', '127.0.0.1 mixed'])
  const request = openPerform([`127.0.0.1:${port}`], hosts, true)
  expect(await request(`http://mixed:${port}/`)).toMatchObject({ kind: 'response' })
  expect(heard).toEqual(['::ffff:127.0.0.1'])
})

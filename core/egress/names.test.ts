import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { LOOKUPS_PER_ORGANISATION, NAME_LOOKUP_MS } from '../limits.ts'
import { readHosts } from './hosts-file.ts'
import {
  A,
  AAAA,
  NXDOMAIN,
  openNameServer,
  SERVFAIL,
  type NameServer,
  type Zone,
} from './name-server.fixture.ts'
import { Names } from './names.ts'
import { candidates, readSearchList } from './resolv-conf.ts'

async function startNameServer(zone: Zone, ttl?: number): Promise<NameServer> {
  const server = await openNameServer(zone, ttl)
  onTestFinished(() => server[Symbol.dispose]())
  return server
}

async function openNames(
  server: Pick<NameServer, 'address'>,
  { hosts = '', resolv = '' } = {},
): Promise<{ names: Names; hostsFile: string }> {
  const directory = await mkdtempDisposable(join(tmpdir(), 'names-'))
  onTestFinished(async () => await directory.remove())
  const [hostsFile, resolvFile] = ['hosts', 'resolv.conf'].map((file) => join(directory.path, file))
  if (hostsFile === undefined || resolvFile === undefined) throw new Error('No files')
  await writeFile(hostsFile, hosts)
  await writeFile(resolvFile, resolv)
  return { names: new Names({ hostsFile, resolvFile, servers: [server.address] }), hostsFile }
}

const one: Zone = (_, type) => (type === A ? ['192.0.2.1'] : [])

test('addresses of both families are found, those of IPv4 first', async () => {
  const v6 = '20010db8000000000000000000000001'
  const server = await startNameServer((_, type) =>
    type === A ? ['192.0.2.1', '192.0.2.2'] : [v6],
  )
  const { names } = await openNames(server)
  expect(await names.lookup('example.com')).toEqual([
    { address: '192.0.2.1', family: 4 },
    { address: '192.0.2.2', family: 4 },
    { address: '2001:db8::1', family: 6 },
  ])
})

test('a name of one family only is found, and a family that nobody answers for is not waited for', async () => {
  const v6 = '20010db8000000000000000000000001'
  const server = await startNameServer((name, type) => {
    if (name.startsWith('six')) return type === AAAA ? [v6] : NXDOMAIN
    return type === A ? ['192.0.2.1'] : 'silent'
  })
  const { names } = await openNames(server)
  expect(await names.lookup('six.example')).toEqual([{ address: '2001:db8::1', family: 6 }])
  const startedAt = performance.now()
  expect(await names.lookup('four.example')).toEqual([{ address: '192.0.2.1', family: 4 }])
  expect(performance.now() - startedAt).toBeLessThan(1_000)
})

test.for([
  ['that does not exist', NXDOMAIN, 'ENOTFOUND'],
  ['without addresses', [], 'ENOTFOUND'],
  ['whose server fails', SERVFAIL, 'EAI_AGAIN'],
  ['that nobody answers for', 'silent', 'EAI_AGAIN'],
] as const)('a name %s', async ([, said, code]) => {
  const server = await startNameServer(() => said)
  const { names } = await openNames(server)
  const startedAt = performance.now()
  await expect(names.lookup('example.com')).rejects.toMatchObject({ name: 'NameError', code })
  expect(performance.now() - startedAt).toBeLessThan(6_000)
})

test('a name server that is away is no answer', async () => {
  const { names } = await openNames({ address: '127.0.0.1:1' })
  await expect(names.lookup('example.com')).rejects.toMatchObject({ code: 'EAI_AGAIN' })
})

test('300 look-ups that nobody answers for delay no other, and one name is asked for once', async () => {
  const server = await startNameServer((name, type) =>
    name.startsWith('silent') ? 'silent' : one(name, type),
  )
  const { names } = await openNames(server)
  const silent = Array.from({ length: 300 }, (_, n) => names.lookup(`silent${n % 100}.example`))
  const failed = Promise.allSettled(silent)
  const startedAt = performance.now()
  expect(await names.lookup('quick.example')).toEqual([{ address: '192.0.2.1', family: 4 }])
  expect(performance.now() - startedAt).toBeLessThan(1_000)
  expect((await failed).map(({ status }) => status)).toEqual(silent.map(() => 'rejected'))
  const first = server.asked.filter((question) => question === 'silent1.example A')
  expect(first.length).toBeLessThanOrEqual(2)
})

test('a tenant whose look-ups hang has some under way, and delays no other, of the same name either', async () => {
  let isSilent = true
  const server = await startNameServer((name, type) =>
    name.startsWith('silent') || isSilent ? 'silent' : one(name, type),
  )
  const { names } = await openNames(server)
  const count = 2 * LOOKUPS_PER_ORGANISATION
  const startedAt = performance.now()
  const silent = Array.from({ length: count }, (_, n) => names.lookup(`silent${n}.example`, 'a'))
  const waiting = names.lookup('shared.example', 'a')
  const failed = Promise.allSettled([...silent, waiting])
  await expect.poll(() => server.asked.length).toBe(2 * LOOKUPS_PER_ORGANISATION)
  isSilent = false
  expect(await names.lookup('shared.example', 'b')).toEqual([{ address: '192.0.2.1', family: 4 }])
  expect(performance.now() - startedAt).toBeLessThan(1_500)
  const early = new Set(server.asked.map((question) => question.split(' ')[0]))
  expect(early.size).toBe(LOOKUPS_PER_ORGANISATION + 1)
  expect((await failed).map(({ status }) => status)).toEqual(
    Array.from({ length: count + 1 }, () => 'rejected'),
  )
  expect(performance.now() - startedAt).toBeLessThan(NAME_LOOKUP_MS + 1_000)
  expect(await names.lookup('later.example', 'a')).toEqual([{ address: '192.0.2.1', family: 4 }])
})

test('an address is cached for as long as its record says, a failure for 3 s', async () => {
  let said: string[] | number = NXDOMAIN
  const server = await startNameServer((_, type) => (type === A ? said : []), 1)
  const { names } = await openNames(server)
  const found = async (): Promise<unknown> =>
    await names.lookup('example.com').then(
      ([first]) => first?.address,
      () => 'none',
    )
  expect(await found()).toBe('none')
  said = ['192.0.2.1']
  expect(await found()).toBe('none')
  await new Promise((resolve) => setTimeout(resolve, 3_100))
  expect(await found()).toBe('192.0.2.1')
  said = ['192.0.2.2']
  expect(await found()).toBe('192.0.2.1')
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  expect(await found()).toBe('192.0.2.2')
})

test('the search list of Kubernetes is gone through, and a dot at the end ends it', async () => {
  const server = await startNameServer((name, type) =>
    name === 'shop.prod.svc.cluster.local' || name === 'a.example.com' ? one(name, type) : NXDOMAIN,
  )
  const { names } = await openNames(server, {
    resolv:
      'nameserver 192.0.2.53\nsearch prod.svc.cluster.local svc.cluster.local\noptions ndots:5\n',
  })
  for (const name of [
    'shop',
    'shop.prod',
    'shop.prod.svc.cluster.local',
    'a.example.com',
    'a.example.com.',
  ]) {
    await names.lookup(name)
  }
  await expect(names.lookup('shop.')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  const questions = server.asked.filter((question) => question.endsWith(' A'))
  expect(questions.map((question) => question.slice(0, -2))).toEqual([
    'shop.prod.svc.cluster.local',
    'shop.prod.prod.svc.cluster.local',
    'shop.prod.svc.cluster.local',
    'shop.prod.svc.cluster.local.prod.svc.cluster.local',
    'shop.prod.svc.cluster.local.svc.cluster.local',
    'shop.prod.svc.cluster.local',
    'a.example.com.prod.svc.cluster.local',
    'a.example.com.svc.cluster.local',
    'a.example.com',
    'a.example.com',
    'shop',
  ])
})

test('the hosts file comes before DNS, and counts again when it changes', async () => {
  const server = await startNameServer(() => NXDOMAIN)
  const hosts =
    '127.0.0.1 localhost\n# 192.0.2.9 cut\n192.0.2.7 Box box.lan # here\n2001:db8::7 box\n'
  const { names, hostsFile } = await openNames(server, { hosts })
  expect(await names.lookup('BOX')).toEqual([
    { address: '192.0.2.7', family: 4 },
    { address: '2001:db8::7', family: 6 },
  ])
  expect(await names.lookup('box.lan.')).toEqual([{ address: '192.0.2.7', family: 4 }])
  expect(await names.lookup('localhost')).toEqual([{ address: '127.0.0.1', family: 4 }])
  await expect(names.lookup('cut')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  await writeFile(hostsFile, '192.0.2.8 box\n')
  await new Promise((resolve) => setTimeout(resolve, 5_200))
  expect(await names.lookup('box')).toEqual([{ address: '192.0.2.8', family: 4 }])
})

test('localhost and what lies below it are loopback without a hosts file, and nobody is asked', async () => {
  const server = await startNameServer(one)
  const names = new Names({
    hostsFile: '/nowhere',
    resolvFile: '/nowhere',
    servers: [server.address],
  })
  for (const name of ['localhost', 'LOCALHOST.', 'a.localhost']) {
    expect(await names.lookup(name)).toEqual([
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ])
  }
  expect(server.asked).toEqual([])
})

test('readHosts() passes over what is no address', () => {
  expect(readHosts('nonsense\n\n1.2.3 a\n1.2.3.4\n\t1.2.3.4\ta  b\r\n')).toEqual(
    new Map([
      ['a', ['1.2.3.4']],
      ['b', ['1.2.3.4']],
    ]),
  )
})

test.for([
  ['', [], 1],
  ['search a.b c.d\nsearch e.f', ['e.f'], 1],
  ['domain a.b\noptions ndots:2 timeout:1', ['a.b'], 2],
  ['; search x\nsearch a.b. # here\noptions ndots:99 rotate', ['a.b'], 15],
] as const)('readSearchList(%j)', ([text, domains, ndots]) => {
  expect(readSearchList(text)).toEqual({ domains, ndots })
})

test('candidates() of a name with ndots dots are itself first', () => {
  const list = { domains: ['x', ''], ndots: 1 }
  expect(candidates('a.b', list)).toEqual(['a.b', 'a.b.x'])
  expect(candidates('a', list)).toEqual(['a.x', 'a'])
  expect(candidates('a.', list)).toEqual(['a'])
})

import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { readConfig, readSettings, SettingsError } from './config.ts'

const KEY = Buffer.alloc(32, 1).toString('base64')
const SECRET = 'hunter2'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-settings-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function fileOf(text: string): string {
  const file = join(directory, crypto.randomUUID())
  writeFileSync(file, text)
  return file
}

function faultsOf(read: () => unknown): readonly string[] {
  try {
    read()
  } catch (error) {
    if (error instanceof SettingsError) return error.faults
    throw error
  }
  return []
}

test.for<[setting: string, value: string, fault: string]>([
  ['API_PORT', '70000', 'API_PORT "70000": must be a port from 0 to 65535'],
  ['API_PORT', '-1', 'must be a port'],
  ['API_PORT', '80a', 'must be a port'],
  ['API_PORT', '8080.5', 'must be a port'],
  ['INGEST_PORT', '0x50', 'must be a port'],
  ['INGEST_PORT', '1e3', 'must be a port'],
  ['API_PORT', 'tcp://10.0.0.1:80', 'Kubernetes sets it for a Service'],
  ['DATABASE_POOL_MAX', '10 MB', 'a whole number from 1 to 100'],
  ['DATABASE_POOL_MAX', '0', 'a whole number from 1 to 100'],
  ['SPOOL_MAX_MB', '1GB', 'a whole number from 1 to'],
  ['SPOOL_REPLICAS', '2', 'a whole number from 3 to 5'],
  ['API_REQUESTS_PER_MINUTE', 'many', 'a whole number'],
  ['HOST', 'everywhere', 'HOST "everywhere": must be an IP address'],
  ['HOST', '127.0.0.1:80', 'must be an IP address'],
  [
    'TRUSTED_PROXIES',
    '10.0.0.1/8',
    '"10.0.0.1/8" has digits behind its first 8 bits: write 10.0.0.0/8',
  ],
  ['TRUSTED_PROXIES', '10.0.0.0/33', '"10.0.0.0/33" must be an IP address or a range'],
  ['TRUSTED_PROXIES', '10.0.0.0/', 'must be an IP address or a range'],
  ['TRUSTED_PROXIES', '10.0.0/8', 'must be an IP address or a range'],
  ['TRUSTED_PROXIES', 'proxy.example.com', '"proxy.example.com" must be an IP address'],
  ['TRUSTED_PROXIES', '0.0.0.0/0', 'believes every sender'],
  ['TRUSTED_PROXIES', '::/0', 'believes every sender'],
  ['TRUSTED_PROXIES', 'fd00::1/8', 'write fd00::/8'],
  ['TRUSTED_PROXIES', 'fd00::/129', 'a range such as fd00::/8'],
  ['TRUSTED_PROXIES', 'fe80::1%eth0', 'must be an IP address'],
  ['DELIVERY_ALLOW_CIDRS', '10.0.0.0/8 192.168.0.0/16', '"10.0.0.0/8 192.168.0.0/16" must be'],
  ['DELIVERY_ALLOW_CIDRS', '192.168.1.7/24', 'write 192.168.1.0/24'],
  [
    'DATABASE_URL',
    'mysql://host/db',
    'DATABASE_URL "mysql://host/db": must begin with postgres://',
  ],
  ['DATABASE_URL', 'host/db', 'DATABASE_URL: must be a URL such as postgres://'],
  ['DATABASE_URL', 'postgres://u:%zz@host/db', 'has a % in its user or password'],
  ['NATS_URL', 'localhost:4222', 'must begin with nats:// or tls://'],
  ['NATS_URL', 'nats://a:4222,nats://b:4222', 'must be a URL'],
  ['NATS_URL', 'nats://host:4222/path', 'must end after the host and the port'],
  ['SPOOL_NATS_URL', 'http://host', 'must begin with nats:// or tls://'],
  ['API_URL', 'relay.example.com', 'must be an origin such as https://relay.example.com'],
  ['API_URL', 'ftp://relay.example.com', 'must be an origin'],
  [
    'INGEST_URL',
    'https://relay.example.com/hooks/',
    'must end after the host and the port: https://relay.example.com',
  ],
  ['INGEST_URL', 'https://relay.example.com?x=1', 'must end after the host'],
  ['LOG_LEVEL', 'warning', 'LOG_LEVEL "warning": must be one of trace, debug, info, warn'],
  ['DEFAULT_PLAN', 'gold', 'must be one of hobby, launch, scale, enterprise'],
  ['KEY_PREFIX', 'My-Key', 'must be 2 to 16 lower-case letters and digits'],
  ['INSTANCE_NAME', 'a\nb', 'must have no control characters'],
  ['INSTANCE_NAME', 'x'.repeat(101), 'must have 100 characters at most'],
  [
    'PLANS_FILE',
    '/nonexistent/plans.json',
    'PLANS_FILE "/nonexistent/plans.json": there is no such file',
  ],
  ['PLANS_FILE', '/', 'is a directory'],
  ['TEST_CLOCK_FILE', '/nonexistent/clock', 'there is no such file'],
])('%s %j is refused: %s', ([setting, value, fault]) => {
  expect(faultsOf(() => readSettings({ [setting]: value }))).toEqual([
    expect.stringContaining(fault),
  ])
})

test.for<[value: string, faults: string[]]>([
  ['short', ['the key must be base64 of 32 bytes, and is 3 bytes']],
  [`${KEY}\n`.repeat(2), ['and holds other characters']],
  [`a:${KEY},a:${KEY}`, ['two keys have the same id']],
  [`${KEY},${KEY}`, ['two keys have the same id']],
  [`a b:${KEY}`, ['must have an id of 1 to 64 letters']],
  [`:${KEY}`, ['must have an id of 1 to 64 letters']],
  [`new:${KEY},`, ['key 2 must be base64 of 32 bytes, and is empty']],
  [`new:${KEY}:old`, ['and holds other characters']],
  ['a:short,b:!', ['key 1 must be base64', 'key 2 must be base64']],
])('POSTERN_ENCRYPTION_KEY case %# is refused and not shown', ([value, faults]) => {
  const found = faultsOf(() => readSettings({ POSTERN_ENCRYPTION_KEY: value }))
  expect(found).toEqual(faults.map((fault) => expect.stringContaining(fault)))
  for (const part of [KEY, value.trim()]) expect(found.join()).not.toContain(part)
})

test.for([
  ['DATABASE_URL', `mysql://user:${SECRET}@host/db?password=${SECRET}`],
  ['DATABASE_URL', `postgres://user:5#${SECRET}@host/db`],
  ['DATABASE_URL', `postgres://user:${SECRET}/x@host/db`],
  ['DATABASE_URL', `postgres://user:5?${SECRET}@host/db`],
  ['DATABASE_URL', `postgres://user:${SECRET}@host:port/db`],
  ['NATS_URL', `http://user:${SECRET}@host`],
  ['NATS_URL', `nats://${SECRET}@host/path`],
  ['API_URL', `https://user:${SECRET}@host`],
  ['POSTERN_ENCRYPTION_KEY', SECRET],
] as const)('%s is refused without a word of its secret: case %#', ([setting, value]) => {
  const faults = faultsOf(() => readSettings({ [setting]: value }))
  expect(faults).toEqual([expect.stringContaining(setting)])
  expect(faults.join()).not.toContain(SECRET)
})

test('a single error names every fault of the settings and of their combinations', () => {
  const env = { API_PORT: '9', INGEST_PORT: '9', LOG_LEVEL: 'loud', TRUSTED_PROXIES: 'x,y' }
  const faults = faultsOf(() => readSettings(env, () => ['DATA_DIR: is full']))
  expect(faults).toEqual([
    expect.stringContaining('"x" must be'),
    expect.stringContaining('"y" must be'),
    expect.stringContaining('LOG_LEVEL "loud"'),
    'DATA_DIR: is full',
    'API_PORT and INGEST_PORT are both 9: each needs a port of its own',
  ])
})

test('a role needs three services and says what each looks like', () => {
  expect(faultsOf(() => readConfig({}))).toEqual([
    expect.stringMatching(/^DATABASE_URL: is missing.*postgres:/),
    expect.stringMatching(/^NATS_URL: is missing.*nats:/),
    expect.stringMatching(/^POSTERN_ENCRYPTION_KEY: is missing.*base64/),
  ])
})

const SERVICES = {
  DATABASE_URL: 'postgres://host/db',
  NATS_URL: 'nats://host:4222',
  POSTERN_ENCRYPTION_KEY: KEY,
}

test('a role is told when its two ports are one', () => {
  const read = () => readConfig({ ...SERVICES, OPS_PORT: '8080' }, 'API_PORT')
  expect(faultsOf(read)).toEqual([expect.stringContaining('API_PORT and OPS_PORT are both 8080')])
  expect(readConfig({ ...SERVICES, OPS_PORT: '8080' }, 'INGEST_PORT').OPS_PORT).toBe(8080)
})

test('a role listens on every network, npm start on this machine alone', () => {
  expect(readConfig(SERVICES).HOST).toBe('0.0.0.0')
  expect(readSettings({}).HOST).toBe('127.0.0.1')
})

test('a spool cannot be on the one server that carries deliveries, nor in copies on the one of npm start', () => {
  const { NATS_URL } = SERVICES
  const same = { ...SERVICES, SPOOL_NATS_URL: 'nats://user:x@host:4222' }
  expect(faultsOf(() => readConfig(same))).toEqual([expect.stringContaining('SPOOL_NATS_URL')])
  expect(readConfig({ ...same, SPOOL_REPLICAS: '3' }).SPOOL_REPLICAS).toBe(3)
  expect(faultsOf(() => readSettings({ SPOOL_REPLICAS: '3' }))).toHaveLength(1)
  expect(readSettings({ SPOOL_REPLICAS: '3', NATS_URL }).SPOOL_REPLICAS).toBe(3)
})

test.for<[name: string, file: () => string, fault: string]>([
  ['missing', () => join(directory, 'none'), 'there is no such file'],
  ['a directory', () => directory, 'is a directory'],
  ['empty', () => fileOf('\n'), 'is empty'],
  ['a device', () => '/dev/null', 'is no regular file'],
  ['huge', () => hugeFile(), 'is larger than 65536 bytes'],
  ['wrong inside', () => fileOf('mysql://host/db\n'), 'must begin with postgres://'],
])('a NAME_FILE that is %s is named', ([, file, fault]) => {
  const path = file()
  const faults = faultsOf(() => readSettings({ DATABASE_URL_FILE: path }))
  expect(faults).toEqual([expect.stringContaining(fault)])
  expect(faults[0]).toContain(path)
})

test('NAME and NAME_FILE together are one too many; an empty NAME is none', () => {
  const file = fileOf(`${SERVICES.DATABASE_URL}\n`)
  const both = { DATABASE_URL: 'postgres://other/db', DATABASE_URL_FILE: file }
  expect(faultsOf(() => readSettings(both))).toEqual([
    'DATABASE_URL and DATABASE_URL_FILE are both set: set one of them',
  ])
  const settings = readSettings({ DATABASE_URL: '', DATABASE_URL_FILE: file })
  expect(settings.DATABASE_URL).toBe(SERVICES.DATABASE_URL)
})

test('blanks around a value are none of it, and blanks alone are no value', () => {
  const file = fileOf(`\uFEFF${KEY}\r\n`)
  const settings = readSettings({
    API_PORT: ' 80 ',
    INGEST_PORT: ' ',
    TRUSTED_PROXIES: ' 10.0.0.0/8 , 192.168.0.1, fd00::/8,',
    POSTERN_ENCRYPTION_KEY_FILE: file,
  })
  expect(settings).toMatchObject({ API_PORT: 80, INGEST_PORT: 8081, POSTERN_ENCRYPTION_KEY: KEY })
  expect(settings.TRUSTED_PROXIES).toEqual(['10.0.0.0/8', '192.168.0.1', 'fd00::/8'])
})

test('DELIVERY_ALLOW_CIDRS may be empty, which opens nothing, and /0, which opens all', () => {
  expect(readSettings({}).DELIVERY_ALLOW_CIDRS).toBeUndefined()
  expect(readSettings({ DELIVERY_ALLOW_CIDRS: '' }).DELIVERY_ALLOW_CIDRS).toEqual([])
  expect(readSettings({ DELIVERY_ALLOW_CIDRS: '0.0.0.0/0' }).DELIVERY_ALLOW_CIDRS).toHaveLength(1)
})

test.for([
  ['https://Relay.Example.com/', 'https://relay.example.com'],
  ['https://relay.example.com:443//', 'https://relay.example.com'],
  ['http://127.0.0.1:8081', 'http://127.0.0.1:8081'],
] as const)('the origin %s is %s', ([given, expected]) => {
  expect(readSettings({ INGEST_URL: given }).INGEST_URL).toBe(expected)
})

test.for([
  'nats://host',
  'nats://token@host:4222/',
  'nats://u:p%40w@[::1]:4222',
  'tls://host:4222',
])('NATS_URL may be %s', (url) => {
  expect(readSettings({ NATS_URL: url }).NATS_URL).toBe(url)
})

test.for([
  'postgres://u:p%40%2Fw@host:5432/db?sslmode=require',
  'postgresql://host',
  'postgres:///db?host=/var/run/postgresql',
])('DATABASE_URL may be %s', (url) => {
  expect(readSettings({ DATABASE_URL: url }).DATABASE_URL).toBe(url)
})

function hugeFile(): string {
  const file = fileOf('')
  truncateSync(file, 65_537)
  return file
}

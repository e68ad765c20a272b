import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createAccount, createUser } from '@nats-io/nkeys'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { readConfig, readSettings, SETTING_NAMES, SettingsError } from './config.ts'
import { BAD_VALUES } from './settings/bad-values.fixture.ts'
import { selfSigned } from './verify/self-signed.fixture.ts'

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

test('every setting has bad values', () => {
  expect(Object.keys(BAD_VALUES).toSorted()).toEqual(SETTING_NAMES.toSorted())
})

const CASES = Object.entries(BAD_VALUES).flatMap(([setting, values]) =>
  values.map(([value, fault]) => ({ setting, value, fault })),
)

test.for(CASES)('$setting "$value" is refused: $fault', ({ setting, value, fault }) => {
  const faults = faultsOf(() => readSettings({ [setting]: value }))
  expect(faults).toEqual([expect.stringContaining(fault)])
  expect(faults[0]?.split(/[ :]/)[0]).toBe(setting)
  expect(faults.join()).not.toContain(SECRET)
})

test.for(CASES)(
  '$setting "$value" in a file is refused, and the file named',
  ({ setting, value, fault }) => {
    const file = fileOf(value)
    const faults = faultsOf(() => readSettings({ [`${setting}_FILE`]: file }))
    expect(faults).toEqual([expect.stringContaining(fault)])
    expect(faults[0]).toContain(`${setting}_FILE ${JSON.stringify(file)}`)
  },
)

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
  ['NATS_URL', `nats://user:${SECRET}@a,nats://user:${SECRET}@b/path`],
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

test('mail needs a server, a sender and, in a role, the origin that links begin with', () => {
  const mail = { SMTP_URL: 'smtp://host', MAIL_FROM: 'Postern <postern@example.com>' }
  const { SMTP_URL, MAIL_FROM } = mail
  expect(faultsOf(() => readSettings({ SMTP_URL }))).toEqual([
    expect.stringContaining('SMTP_URL: needs MAIL_FROM'),
  ])
  expect(faultsOf(() => readSettings({ MAIL_FROM }))).toEqual([
    expect.stringContaining('MAIL_FROM: needs SMTP_URL'),
  ])
  expect(readSettings(mail)).toMatchObject(mail)
  expect(faultsOf(() => readConfig({ ...SERVICES, ...mail }))).toEqual([
    expect.stringContaining('SMTP_URL: needs API_URL'),
  ])
  const whole = { ...SERVICES, ...mail, API_URL: 'https://relay.example.com' }
  expect(readConfig(whole)).toMatchObject(mail)
})

test('a role listens on every network, npm start on this machine alone', () => {
  expect(readConfig(SERVICES).HOST).toBe('0.0.0.0')
  expect(readSettings({}).HOST).toBe('127.0.0.1')
})

test('a spool cannot be on the one server that carries deliveries, nor in copies on the one of npm start', () => {
  const { NATS_URL } = SERVICES
  const same = { ...SERVICES, SPOOL_NATS_URL: 'nats://user:x@other,nats://user:x@host:4222' }
  expect(faultsOf(() => readConfig(same))).toEqual([expect.stringContaining('SPOOL_NATS_URL')])
  expect(readConfig({ ...same, SPOOL_REPLICAS: '3' }).SPOOL_REPLICAS).toBe(3)
  expect(faultsOf(() => readSettings({ SPOOL_REPLICAS: '3' }))).toHaveLength(1)
  expect(readSettings({ SPOOL_REPLICAS: '3', NATS_URL }).SPOOL_REPLICAS).toBe(3)
})

test('a client of NATS signs in one way, and its files are those of a server', () => {
  const user = createUser()
  const NATS_NKEY_SEED_FILE = fileOf(new TextDecoder().decode(user.getSeed()))
  const pair = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const NATS_CA_FILE = fileOf(selfSigned(pair, 0, Date.now() + 86_400_000))
  const right = { ...SERVICES, NATS_NKEY_SEED_FILE, NATS_CA_FILE }
  expect(readConfig(right)).toMatchObject({ NATS_NKEY_SEED_FILE, NATS_CA_FILE })
  expect(faultsOf(() => readConfig({ ...right, NATS_URL: 'nats://me:x@a,nats://me:x@b' }))).toEqual(
    ['the user of NATS_URL and NATS_NKEY_SEED_FILE: set one of them'],
  )
  expect(faultsOf(() => readConfig({ ...right, NATS_TLS_CERT_FILE: NATS_CA_FILE }))).toEqual([
    'NATS_TLS_CERT_FILE and NATS_TLS_KEY_FILE: set both of them, or none',
  ])
  const NATS_TLS_KEY_FILE = NATS_CA_FILE
  expect(
    faultsOf(() => readConfig({ ...right, NATS_TLS_CERT_FILE: NATS_CA_FILE, NATS_TLS_KEY_FILE })),
  ).toEqual([expect.stringContaining('are no certificate with its key in PEM')])
  expect(faultsOf(() => readSettings({ NATS_NKEY_SEED_FILE }))).toEqual([
    'NATS_NKEY_SEED_FILE: needs NATS_URL',
  ])
  expect(faultsOf(() => readConfig({ ...SERVICES, SPOOL_NATS_CA_FILE: NATS_CA_FILE }))).toEqual([
    'SPOOL_NATS_CA_FILE: needs SPOOL_NATS_URL',
  ])
  const account = fileOf(new TextDecoder().decode(createAccount().getSeed()))
  expect(faultsOf(() => readConfig({ ...SERVICES, NATS_NKEY_SEED_FILE: account }))).toEqual([
    expect.stringContaining('must hold the seed of a user, which begins with SU'),
  ])
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
  'nats://u:p,w@a:4222,nats://u:p,w@b:4222',
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

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { jetstreamManager } from '@nats-io/jetstream'
import { encodeAccount, encodeOperator, encodeUser, fmtCreds } from '@nats-io/jwt'
import { createAccount, createOperator, createUser } from '@nats-io/nkeys'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { connectNats } from '../../core/jetstream/connect-nats.ts'
import { isConnected } from '../../core/nats.ts'
import type { NatsFiles } from '../../core/urls/nats-urls.ts'
import { freePort, freePorts } from '../../standalone/processes/ports.ts'
import { makeCertificate } from '../email/certificate.ts'
import { natsServer, type NatsServer } from '../kit/nats-server.ts'
import { SURROUNDINGS } from '../kit/program.ts'
import { IN_MEMORY, scratch } from '../kit/servers.ts'
import { startWorld } from '../kit/world.ts'

const LOG = pino({ level: 'silent' })
const UNLIMITED = Object.fromEntries(
  ['mem_storage', 'disk_storage', 'streams', 'consumer', 'conn', 'subs', 'data', 'payload'].map(
    (limit) => [limit, -1],
  ),
)
const START_MS = 30_000

const stack = new AsyncDisposableStack()
let directory: string
/** With accounts whose users have credentials files, and one whose users have nkeys and certificates. */
let withCreds: { server: NatsServer; url: string; files: NatsFiles; other: Uint8Array }
let withKeys: { url: string; files: NatsFiles & { ca: string; cert: string; key: string } }
beforeAll(async () => {
  directory = stack.use(scratch(IN_MEMORY)).path
  const [one = 0, two = 0] = await freePorts(2)
  withCreds = await startWithCreds(one)
  withKeys = await startWithKeys(two)
})
afterAll(async () => await stack.disposeAsync())

function kept(name: string, text: string | Uint8Array): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

async function startWithCreds(port: number): Promise<typeof withCreds> {
  const [operator, account, system] = [createOperator(), createAccount(), createAccount()]
  const credsOf = async (name: string): Promise<Uint8Array> => {
    const user = createUser()
    return fmtCreds(await encodeUser(name, user, account), user)
  }
  const jwt = await encodeAccount('postern', account, { limits: UNLIMITED }, { signer: operator })
  // JetStream needs the account of the system.
  const systemJwt = await encodeAccount('system', system, {}, { signer: operator })
  const ofOperator = { system_account: system.getPublicKey() }
  const config = `
listen: "127.0.0.1:${port}"
max_payload: 8MB
jetstream { store_dir: "${join(directory, 'creds')}" }
operator: ${await encodeOperator('operator', operator, ofOperator)}
resolver: MEMORY
resolver_preload {
  ${account.getPublicKey()}: ${jwt}
  ${system.getPublicKey()}: ${systemJwt}
}
`
  const server = stack.use(await natsServer(join(directory, 'creds'), config))
  await server.start()
  const files = { creds: kept('user.creds', await credsOf('first')) }
  return { server, url: `nats://127.0.0.1:${port}`, files, other: await credsOf('second') }
}

async function startWithKeys(port: number): Promise<typeof withKeys> {
  const user = createUser()
  const { cert, key } = makeCertificate(directory, 'localhost')
  const config = `
listen: "127.0.0.1:${port}"
max_payload: 8MB
jetstream { store_dir: "${join(directory, 'keys')}" }
authorization { users: [ { nkey: ${user.getPublicKey()} } ] }
tls { cert_file: "${cert}", key_file: "${key}", ca_file: "${cert}", verify: true }
`
  const server = stack.use(await natsServer(join(directory, 'keys'), config))
  await server.start()
  const nkeySeed = kept('user.nk', `${new TextDecoder().decode(user.getSeed())}\n`)
  return { url: `nats://localhost:${port}`, files: { nkeySeed, ca: cert, cert, key } }
}

async function outcome(url: string, files: NatsFiles): Promise<string> {
  try {
    const nats = await connectNats(url, 'test', LOG, files)
    await nats.close()
    return 'connected'
  } catch (error) {
    return String(error)
  }
}

test('a client signs in by a credentials file, whose text it reads anew at each connect', async () => {
  const { server, url, files, other } = withCreds
  await expect.poll(async () => await outcome(url, files)).toBe('connected')
  expect(await outcome(url, {})).toContain('refuses the user and the password, or asks for some')
  const stranger = createUser()
  const creds = kept(
    'other.creds',
    fmtCreds(await encodeUser('x', stranger, createAccount()), stranger),
  )
  expect(await outcome(url, { creds })).toContain('refuses the credentials of its file')

  const damaged = kept(
    'damaged.nk',
    new TextDecoder().decode(stranger.getSeed()).replace(/..$/, 'AA'),
  )
  expect(await outcome(url, { nkeySeed: damaged })).toContain('cannot be used')

  const creds2 = kept('rotated.creds', other)
  const nats = await connectNats(url, 'test', LOG, { creds: creds2 })
  onTestFinished(async () => await nats.close())
  for (const replace of [() => rmSync(creds2), () => writeFileSync(creds2, 'half a fi')]) {
    replace()
    await server.stop()
    await expect.poll(() => isConnected(nats)).toBe(false)
    await server.start()
    await expect.poll(() => isConnected(nats)).toBe(true)
  }
})

test('a client signs in by an nkey, trusts the authority of its file and shows its certificate', async () => {
  const { url, files } = withKeys
  await expect.poll(async () => await outcome(url, files)).toBe('connected')
  expect(await outcome(url, { ...files, ca: undefined })).toContain('is not trusted, or asks for')
  const nkeySeed = kept('other.nk', createUser().getSeed())
  expect(await outcome(url, { ...files, nkeySeed })).toContain('refuses the nkey')
})

test('ingest reaches NATS and the NATS of its spool by their files', async () => {
  await using world = await startWorld()
  const port = await freePort()
  const [key] = [...world.keyring].map(([id, bytes]) => `${id}:${bytes.toString('base64')}`)
  const child = spawn(process.execPath, ['dataplane/ingest/main.ts'], {
    cwd: new URL('../..', import.meta.url),
    env: {
      ...SURROUNDINGS,
      DATABASE_URL: world.databaseUrl,
      NATS_URL: withCreds.url,
      NATS_CREDS_FILE: withCreds.files.creds,
      SPOOL_NATS_URL: withKeys.url,
      SPOOL_NATS_NKEY_SEED_FILE: withKeys.files.nkeySeed,
      SPOOL_NATS_CA_FILE: withKeys.files.ca,
      SPOOL_NATS_TLS_CERT_FILE: withKeys.files.cert,
      SPOOL_NATS_TLS_KEY_FILE: withKeys.files.key,
      POSTERN_ENCRYPTION_KEY: key,
      HOST: '127.0.0.1',
      INGEST_PORT: '0',
      OPS_PORT: String(port),
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(async () => {
    const died = once(child, 'exit')
    child.kill('SIGTERM')
    await died
  })
  const ready = async () =>
    await fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status, String)
  await expect.poll(ready, { timeout: START_MS }).toBe(200)
  const nats = await connectNats(withKeys.url, 'test', LOG, withKeys.files)
  onTestFinished(async () => await nats.close())
  const manager = await jetstreamManager(nats)
  await expect.poll(async () => await manager.streams.names().next()).toHaveLength(1)
})

import { readFileSync } from 'node:fs'

import {
  connect,
  credsAuthenticator,
  nkeyAuthenticator,
  type Authenticator,
  type ConnectionOptions,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node'

import type { Logger } from './log.ts'
import { natsUrlsOf, type NatsFiles } from './urls/nats-urls.ts'

export type { NatsConnection }

const CONNECT_TIMEOUT_MS = 5_000
const RECONNECT_WAIT_MS = 250
const PING_INTERVAL_MS = 5_000

const disconnected = new WeakSet<NatsConnection>()
const connectedAt = new WeakMap<NatsConnection, number>()

/** False while the connection is being restored: messages published then would wait in memory without bound. */
export function isConnected(nats: NatsConnection): boolean {
  return !nats.isClosed() && !disconnected.has(nats)
}

export function checkConnected(nats: NatsConnection): void {
  if (!isConnected(nats)) throw new Error('NATS is not connected')
}

/** How long the connection has been up since it was last restored. */
export function connectedMs(nats: NatsConnection): number {
  return performance.now() - (connectedAt.get(nats) ?? 0)
}

/**
 * Ends a subscription. Resolves when it has handed out all that the server sent for it: `unsubscribe()` alone drops what is
 * on the wire.
 */
export async function endSubscription(
  nats: NatsConnection,
  subscription: Subscription,
): Promise<void> {
  if (subscription.isClosed()) return
  if (isConnected(nats)) await subscription.drain()
  else subscription.unsubscribe()
}

/**
 * A connection that comes back by itself for as long as the process lives, to any server of the list. Throws when there is none
 * to begin with.
 */
export async function openNats(
  url: string,
  name: string,
  log: Logger,
  files: NatsFiles = {},
): Promise<NatsConnection> {
  const urls = natsUrlsOf(url).map((each) => new URL(each))
  const first = urls[0] ?? new URL(url)
  const connection = await connect({
    servers: urls.map(({ host }) => `${first.protocol}//${host}`),
    ...signInOf(first, files),
    ...tlsOf(first, files),
    name,
    timeout: CONNECT_TIMEOUT_MS,
    maxReconnectAttempts: -1,
    // A server that comes back before its users do would otherwise be given up after the second refusal.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
  })
  connectedAt.set(connection, performance.now())
  void logStatus(connection, log)
  return connection
}

function signInOf({ username, password }: URL, files: NatsFiles): ConnectionOptions {
  const authenticator = authenticatorOf(files)
  if (authenticator !== undefined) return { authenticator }
  if (username === '') return {}
  const user = decodeURIComponent(username)
  return password === '' ? { token: user } : { user, pass: decodeURIComponent(password) }
}

/** Throws when the file cannot be read or does not hold what it should. */
function authenticatorOf({ creds, nkeySeed }: NatsFiles): Authenticator | undefined {
  if (creds !== undefined)
    return rereading(creds, (text) => credsAuthenticator(bytesOf(`${text}\n`)))
  if (nkeySeed !== undefined) return rereading(nkeySeed, (text) => nkeyAuthenticator(bytesOf(text)))
  return undefined
}

/** The client ends for good when an authenticator throws: while a file is being replaced, its text before serves. */
function rereading(path: string, make: (text: string) => Authenticator): Authenticator {
  const read = (): Authenticator => make(readFileSync(path, 'utf8').trim())
  let last = read()
  last('')
  return (nonce) => {
    try {
      const next = read()
      const auth = next(nonce)
      last = next
      return auth
    } catch {
      return last(nonce)
    }
  }
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** With an authority or a certificate, TLS is a must. */
function tlsOf({ protocol }: URL, { ca, cert, key }: NatsFiles): ConnectionOptions {
  if (protocol !== 'tls:' && ca === undefined && cert === undefined) return {}
  return {
    tls: {
      ...(ca !== undefined && { caFile: ca }),
      ...(cert !== undefined && key !== undefined && { certFile: cert, keyFile: key }),
    },
  }
}

async function logStatus(connection: NatsConnection, log: Logger): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'disconnect') {
      disconnected.add(connection)
      log.warn('Lost the NATS connection')
    }
    if (status.type === 'reconnect') {
      disconnected.delete(connection)
      connectedAt.set(connection, performance.now())
      log.info('Reconnected to NATS')
    }
    if (status.type === 'error') log.warn({ err: status.error }, 'NATS refused an operation')
  }
}

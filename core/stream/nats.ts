import { connect, type NatsConnection } from '@nats-io/transport-node'

import type { Logger } from '../log.ts'

export type { NatsConnection }

const RECONNECT_WAIT_MS = 250
const PING_INTERVAL_MS = 5_000

const disconnected = new WeakSet<NatsConnection>()
const connectedAt = new WeakMap<NatsConnection, number>()

/** False while the connection is being made anew: what is published then would wait in memory without bound. */
export function isConnected(nats: NatsConnection): boolean {
  return !nats.isClosed() && !disconnected.has(nats)
}

/** How long the connection has been up since it was last made anew. */
export function connectedMs(nats: NatsConnection): number {
  return performance.now() - (connectedAt.get(nats) ?? 0)
}

/**
 * A connection that comes back by itself for as long as the process lives. Waits for the first connection too, so
 * that roles may start before NATS does; with `waits` false it throws instead.
 */
export async function openNats(
  url: string,
  name: string,
  log: Logger,
  waits = true,
): Promise<NatsConnection> {
  const { protocol, username, password, host } = new URL(url)
  const connection = await connect({
    servers: `${protocol}//${host}`,
    ...(username !== '' && password !== ''
      ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
      : username !== '' && { token: decodeURIComponent(username) }),
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_WAIT_MS,
    waitOnFirstConnect: waits,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
  })
  connectedAt.set(connection, performance.now())
  void logStatus(connection, log)
  return connection
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

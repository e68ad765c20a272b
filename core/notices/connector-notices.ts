import { z } from 'zod'

import { isConnected, type NatsConnection } from '../nats.ts'
import { CONNECTOR_ONLINE, CONNECTORS_CHANGED, GATEWAY_LIVES } from './notice-subjects.ts'

/*
 * Notices between programs about connectors. A notice may be lost, so each receiver also reads the database a little
 * later.
 */

const Changed = z.object({ connectorIds: z.array(z.string()) })
const Online = z.object({ connectorId: z.string() })
const Lives = z.object({ gatewayId: z.string() })

/** Connectors were made, changed or deleted, or replicas of theirs revoked: gateways look at once what holds now. */
export function noticeConnectors(nats: NatsConnection, connectorIds: readonly string[]): void {
  tell(nats, CONNECTORS_CHANGED, { connectorIds: [...connectorIds] })
}

export function followConnectors(
  nats: NatsConnection,
  look: (connectorIds: string[]) => void,
): Disposable {
  return follow(nats, CONNECTORS_CHANGED, Changed, ({ connectorIds }) => look(connectorIds))
}

/** A connector has a session again: workers send what waits for it. */
export function noticeOnline(nats: NatsConnection, connectorId: string): void {
  tell(nats, CONNECTOR_ONLINE, { connectorId })
}

export function followOnline(
  nats: NatsConnection,
  hear: (connectorId: string) => void,
): Disposable {
  return follow(nats, CONNECTOR_ONLINE, Online, ({ connectorId }) => hear(connectorId))
}

/** A gateway lives: from one that says so no more nobody expects an answer. */
export function noticeLife(nats: NatsConnection, gatewayId: string): void {
  tell(nats, GATEWAY_LIVES, { gatewayId })
}

export function followLife(nats: NatsConnection, hear: (gatewayId: string) => void): Disposable {
  return follow(nats, GATEWAY_LIVES, Lives, ({ gatewayId }) => hear(gatewayId))
}

function tell(nats: NatsConnection, subject: string, notice: object): void {
  if (isConnected(nats)) nats.publish(subject, JSON.stringify(notice))
}

function follow<T>(
  nats: NatsConnection,
  subject: string,
  schema: z.ZodType<T>,
  hear: (notice: T) => void,
): Disposable {
  const subscription = nats.subscribe(subject, {
    callback: (error, message) => {
      if (error !== null) return
      // A notice of a newer version may be unreadable; the receiver finds the change in the database.
      const notice = schema.safeParse(message.json())
      if (notice.success) hear(notice.data)
    },
  })
  return { [Symbol.dispose]: () => subscription.unsubscribe() }
}

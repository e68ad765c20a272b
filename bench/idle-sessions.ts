import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { pino } from 'pino'

import { dial } from '../connector-agent/tunnel/dial.ts'
import { openDb, openPool } from '../core/db/connection/db.ts'
import { insertReplica } from '../core/db/connectors/replicas.ts'
import { decodeId, newId } from '../core/ids.ts'
import { hashSecret } from '../core/keys/secret-text.ts'
import { openLink, type Link } from '../core/tunnel/link.ts'
import { TUNNEL_PATH } from '../core/tunnel/protocol.ts'
import type { Installation } from './installation.ts'

const AT_ONCE = 16
const RETRY_MS = 1_000

/** So many connectors with a replica each, whose sessions are open and have nothing to do. */
export async function openIdleSessions(
  installation: Installation,
  count: number,
): Promise<AsyncDisposable> {
  await using db = openDb(
    openPool({
      url: installation.databaseUrl,
      max: AT_ONCE,
      log: pino({ level: 'silent' }),
      planning: 'lookups',
    }),
  )
  const links: Link[] = []
  let made = 0
  const makeNext = async (): Promise<void> => {
    while (made < count) {
      const name = `idle ${made++}`
      const { id } = await installation.call('POST', '/v1/connectors', { name })
      const token = randomBytes(32).toString('hex')
      const now = new Date()
      await insertReplica(db, {
        id: newId(now.getTime()),
        connectorId: decodeId('cnr', String(id)) ?? '',
        name,
        version: '1',
        remoteIp: '127.0.0.1',
        tokenHash: hashSecret(token),
        startedAt: now,
        lastHeartbeatAt: now,
        createdAt: now,
      })
      links.push(await openSession(installation.gatewayUrl, token))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, makeNext))
  return {
    async [Symbol.asyncDispose]() {
      for (const link of links) link.cut()
      await sleep(0)
    },
  }
}

/** Waits while the gateway has enough dials of this address. */
async function openSession(gatewayUrl: string, token: string): Promise<Link> {
  for (;;) {
    let link: Link | undefined
    const target = { url: `${gatewayUrl}${TUNNEL_PATH}`, token, gateways: [] }
    const dialled = await dial(target, (wire) => {
      link = openLink(wire, { frame: () => {}, closed: () => {} })
    })
    if (link !== undefined) return link
    if (dialled.kind !== 'refused' || dialled.status !== 429) {
      throw new Error(`No session: ${JSON.stringify(dialled)}`)
    }
    await sleep(dialled.retryAfterMs ?? RETRY_MS)
  }
}

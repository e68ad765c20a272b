import { sql, type RawBuilder } from 'kysely'

import type { Db } from '../connection/db.ts'
import { PROCESS_LIVE_MS } from '../processes/processes.ts'

/** An agent's session at a gateway. */
export interface LiveSession {
  id: string
  replicaId: string
  connectorId: string
}

/** Writes what a gateway gained and lost since it last told. Told again, it changes nothing more. */
export async function noteSessions(
  db: Db,
  gatewayId: string,
  { opened, closed }: { opened: readonly LiveSession[]; closed: readonly string[] },
): Promise<void> {
  if (closed.length > 0) {
    await db.deleteFrom('tunnel_session').where('id', 'in', closed).execute()
  }
  if (opened.length === 0) return
  await db
    .insertInto('tunnel_session')
    .values(
      opened.map((session) => ({
        id: session.id,
        gateway_id: gatewayId,
        replica_id: session.replicaId,
        connector_id: session.connectorId,
      })),
    )
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
  const connectors = [...new Set(opened.map(({ connectorId }) => connectorId))]
  await db
    .updateTable('connector')
    .set({ last_seen_at: sql<Date>`greatest(last_seen_at, clock_timestamp())` })
    .where('id', 'in', connectors)
    .execute()
}

/** Makes the rows of a gateway what it has now, whatever was lost on the way. */
export async function settleSessions(
  db: Db,
  gatewayId: string,
  sessions: readonly LiveSession[],
): Promise<void> {
  const ids = sessions.map(({ id }) => id)
  await db
    .deleteFrom('tunnel_session')
    .where('gateway_id', '=', gatewayId)
    .where(sql<boolean>`id <> all(${ids}::uuid[])`)
    .execute()
  const known = await db
    .selectFrom('tunnel_session')
    .select('id')
    .where('gateway_id', '=', gatewayId)
    .execute()
  const missing = new Set(known.map(({ id }) => id))
  await noteSessions(db, gatewayId, {
    opened: sessions.filter(({ id }) => !missing.has(id)),
    closed: [],
  })
}

export async function forgetSessions(db: Db, gatewayId: string): Promise<void> {
  await db.deleteFrom('tunnel_session').where('gateway_id', '=', gatewayId).execute()
}

/** Drops the rows of gateways that were killed. */
export async function deleteDeadSessions(db: Db): Promise<void> {
  await sql`
    delete from tunnel_session s where not exists (
      select from process p where p.id = s.gateway_id
        and p.seen_at > clock_timestamp() - interval '1 minute')`.execute(db)
}

/** Whether the gateway of the row `s` of tunnel_session lives, as far as is known. */
const GATEWAY_LIVES = sql`exists (
  select from process p where p.id = s.gateway_id and p.role = 'gateway'
    and p.seen_at > clock_timestamp() - ${sql.lit(PROCESS_LIVE_MS)} * interval '1 millisecond')`

/** How many replicas of a connector have a session. `id` is SQL for the connector's id. */
export function onlineReplicasOf(id: string): RawBuilder<number> {
  return sql<number>`(
    select count(distinct s.replica_id)::int4 from tunnel_session s
    where s.connector_id = ${sql.ref(id)} and ${GATEWAY_LIVES})`
}

/** Whether a replica has a session. `id` is SQL for the replica's id, `connectorId` for its connector's. */
export function isOnline(id: string, connectorId: string): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from tunnel_session s
    where s.connector_id = ${sql.ref(connectorId)} and s.replica_id = ${sql.ref(id)} and ${GATEWAY_LIVES})`
}

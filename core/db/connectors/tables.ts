import type { ColumnType, Generated, JSONColumnType } from 'kysely'

export interface ConnectorTables {
  connector: ConnectorTable
  replica: ReplicaTable
  revoked_token: RevokedTokenTable
  tunnel_session: TunnelSessionTable
  public_limit: PublicLimitTable
}

type Time = ColumnType<Date, Date | string, Date | string>

interface ConnectorTable {
  id: string
  organisation_id: string
  project_id: string
  name: string
  is_disabled: boolean
  provisioned_at: Time | null
  allowed_hosts: JSONColumnType<string[]>
  enrollment_hash: Buffer
  last_seen_at: Time | null
  metadata: JSONColumnType<Record<string, string>>
  created_at: Time
  updated_at: Time
}

interface ReplicaTable {
  id: string
  connector_id: string
  name: string
  version: string
  remote_ip: string
  token_hash: Buffer
  started_at: Time
  last_heartbeat_at: Time
  in_flight: Generated<number>
  revoked_at: Time | null
  created_at: Time
}

/** Remembers a revoked token, so that its holder learns the reason. */
interface RevokedTokenTable {
  token_hash: Buffer
  replica_id: string
  reason: string
  at: Time
}

/** A replica's session at a gateway: it counts while the gateway's process lives. */
interface TunnelSessionTable {
  id: string
  gateway_id: string
  replica_id: string
  connector_id: string
}

/** When each caller of a public endpoint may come again, on average. */
interface PublicLimitTable {
  scope: string
  tat: Time
}

import { sql } from 'kysely'
import { z } from 'zod'

import type { Db } from '../connection/db.ts'

/** Why a replica's token is good no more. (spec: Codes, CONNECTOR_REPLICA_REVOKED) */
const RevokedReason = z.enum(['connector_deleted', 'replica_revoked', 'identity_absent'])

type RevokedReason = z.infer<typeof RevokedReason>

/** A replica that may have sessions, with what holds for its connector. */
export interface GoodReplica {
  kind: 'good'
  replicaId: string
  connectorId: string
  organisationId: string
  isDisabled: boolean
  allowedHosts: string[]
}

export type Standing = GoodReplica | { kind: 'revoked'; replicaId: string; reason: RevokedReason }

interface Row {
  replicaId: string | null
  connectorId: string | null
  organisationId: string | null
  isDisabled: boolean | null
  allowedHosts: string[] | null
  revokedId: string | null
  reason: string | null
}

/** Tells the standing of the holder of a token; undefined if nobody ever had it. The statement is the same in every case. */
export async function standingOfToken(db: Db, tokenHash: Buffer): Promise<Standing | undefined> {
  const { rows } = await sql<Row>`
    select r.id as "replicaId", r.connector_id as "connectorId", c.organisation_id as "organisationId",
      c.is_disabled as "isDisabled", c.allowed_hosts as "allowedHosts", t.replica_id as "revokedId", t.reason
    from (select ${tokenHash}::bytea as hash) given
    left join replica r on r.token_hash = given.hash and r.revoked_at is null
    left join connector c on c.id = r.connector_id
    left join revoked_token t on t.token_hash = given.hash`.execute(db)
  const [row] = rows
  return row && standingOf(row)
}

/** The same for replicas by their ids. An unknown replica is absent. */
export async function standingsOfReplicas(
  db: Db,
  replicaIds: readonly string[],
): Promise<Map<string, Standing>> {
  if (replicaIds.length === 0) return new Map()
  const { rows } = await sql<Row & { id: string }>`
    select given.id, r.id as "replicaId", r.connector_id as "connectorId", c.organisation_id as "organisationId",
      c.is_disabled as "isDisabled", c.allowed_hosts as "allowedHosts", t.replica_id as "revokedId", t.reason
    from unnest(${replicaIds}::uuid[]) as given (id)
    left join replica r on r.id = given.id and r.revoked_at is null
    left join connector c on c.id = r.connector_id
    left join revoked_token t on t.replica_id = given.id`.execute(db)
  return new Map(
    rows.map((row) => [
      row.id,
      standingOf(row) ?? { kind: 'revoked', replicaId: row.id, reason: 'identity_absent' },
    ]),
  )
}

function standingOf(row: Row): Standing | undefined {
  if (row.reason !== null && row.revokedId !== null) {
    return { kind: 'revoked', replicaId: row.revokedId, reason: RevokedReason.parse(row.reason) }
  }
  const { replicaId, connectorId, organisationId, isDisabled, allowedHosts } = row
  if (replicaId === null || connectorId === null || organisationId === null) return undefined
  return {
    kind: 'good',
    replicaId,
    connectorId,
    organisationId,
    isDisabled: isDisabled === true,
    allowedHosts: allowedHosts ?? [],
  }
}

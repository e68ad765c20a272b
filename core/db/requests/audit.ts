import { sql } from 'kysely'

import { decodeId, encodeId, newId, type Prefix } from '../../ids.ts'
import type { Db } from '../connection/db.ts'

/** Who acts, and from where. */
export interface Actor {
  /** `user:usr_…`, `key:key_…`, `agent:agt_…`, or `admin` for the command line. */
  name: string
  /** The address of the client; null for the command line, and for what Postern does by itself. */
  address: string | null
}

/** Who changed what, and how; secrets never get here. (decisions: Resources, "an audit row") */
export interface AuditEntry {
  organisationId: string
  projectId: string | null
  actor: Actor
  /** `<kind>.<verb>`. */
  action: string
  subjectKind: string
  subjectId: string
  changes: Record<string, unknown>
}

/** To be called in the transaction of the change itself, so that neither exists without the other. */
export async function writeAudit(db: Db, entry: AuditEntry, nowMs: number): Promise<void> {
  await db
    .insertInto('audit')
    .values({
      id: newId(nowMs),
      organisation_id: entry.organisationId,
      project_id: entry.projectId,
      actor: entry.actor.name,
      address: entry.actor.address,
      action: entry.action,
      subject_kind: entry.subjectKind,
      subject_id: entry.subjectId,
      changes: JSON.stringify(entry.changes),
      at: new Date(nowMs),
    })
    .execute()
}

/** A change that was made, with the name of whoever made it where they are still known. */
export interface AuditRow extends AuditEntry {
  id: string
  at: Date
  actorName: string | null
}

/** The changes of an organisation, newest first, behind one of them. */
export async function listAudit(
  db: Db,
  organisationId: string,
  { limit, before }: { limit: number; before: string | undefined },
): Promise<AuditRow[]> {
  let query = db
    .selectFrom('audit')
    .selectAll()
    .where('organisation_id', '=', organisationId)
    .orderBy('id', 'desc')
    .limit(limit)
  if (before !== undefined) query = query.where('id', '<', before)
  const rows = await query.execute()
  const names = await namesOf(db, organisationId, [...new Set(rows.map(({ actor }) => actor))])
  return rows.map((row) => ({
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    actor: { name: row.actor, address: row.address },
    actorName: names.get(row.actor) ?? null,
    action: row.action,
    subjectKind: row.subject_kind,
    subjectId: row.subject_id,
    changes: row.changes,
    at: row.at,
  }))
}

const KIND_OF = { usr: 'user', key: 'key', agt: 'agent' } as const

/** People by their names, keys and agents of the organisation by theirs. */
async function namesOf(
  db: Db,
  organisationId: string,
  actors: readonly string[],
): Promise<Map<string, string>> {
  const idsOf = (kind: string, prefix: Prefix): string[] =>
    actors.flatMap((actor) => decodeId(prefix, actor.replace(`${kind}:`, '')) ?? [])
  const { rows } = await sql<{ kind: keyof typeof KIND_OF; id: string; name: string }>`
    select 'usr' as kind, id, name from person where id = any(${idsOf('user', 'usr')}::uuid[])
    union all
    select 'key', id, name from api_key
    where organisation_id = ${organisationId} and id = any(${idsOf('key', 'key')}::uuid[])
    union all
    select 'agt', id, name from agent
    where organisation_id = ${organisationId} and id = any(${idsOf('agent', 'agt')}::uuid[])`.execute(
    db,
  )
  return new Map(rows.map(({ kind, id, name }) => [`${KIND_OF[kind]}:${encodeId(kind, id)}`, name]))
}

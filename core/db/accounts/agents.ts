import { sql } from 'kysely'

import { lowerOf, roleOf, type Role } from '../../accounts/role.ts'
import { API_WINDOW_SECONDS } from '../../limits.ts'
import type { Db } from '../connection/db.ts'

/** The token of a program that acts for a member, with what that member may at the time. */
export interface Agent {
  id: string
  organisationId: string
  /** The member that it belongs to. */
  personId: string
  email: string
  name: string
  tokenHint: string
  /** It never acts with more than this role; null: with that of its member. */
  roleMax: string | null
  /** The project that it acts in; null: none is selected. */
  projectId: string | null
  expiresAt: Date | null
  revokedAt: Date | null
  /** The minute of its last call. */
  lastUsedAt: Date | null
  /** Where its last call came from. */
  lastUsedFrom: string | null
  createdAt: Date
}

/** An agent as one call found it, the call already counted. */
export interface AgentUse {
  id: string
  organisationId: string
  personId: string
  /** The role of its member at this moment, or its `roleMax` if that is lower. */
  role: Role
  /** Calls of the running window, this one included. */
  calls: number
  windowStartedAt: Date
  projectId: string | null
  projectName: string | null
}

/**
 * Reads an agent that is neither revoked nor expired, whose member still is one, and counts the call, in one statement: the
 * row lock makes the count exact across processes. Nobody waits for the disk.
 */
export async function useAgent(
  db: Db,
  tokenHash: Buffer,
  { nowMs, address }: { nowMs: number; address: string },
): Promise<AgentUse | undefined> {
  const now = new Date(nowMs)
  // A window that begins in the future was begun before the clock was set back.
  const isRunning = sql`agent.window_started_at > ${new Date(nowMs - API_WINDOW_SECONDS * 1_000)}
    and agent.window_started_at < ${new Date(nowMs + API_WINDOW_SECONDS * 1_000)}`
  const { rows } = await sql<Omit<AgentUse, 'role'> & { role: string; roleMax: string | null }>`
    with used as (
      update agent set
        window_requests = case when ${isRunning} then agent.window_requests + 1 else 1 end,
        window_started_at = case when ${isRunning} then agent.window_started_at else ${now} end,
        last_used_from = ${address}
      from membership
      where agent.token_hash = ${tokenHash} and ${isLive(now)}
        and membership.organisation_id = agent.organisation_id
        and membership.person_id = agent.person_id
      returning agent.id, agent.organisation_id, agent.person_id, agent.project_id,
        agent.window_requests, agent.window_started_at, membership.role, agent.role_max
    )
    select used.id, used.organisation_id as "organisationId", used.person_id as "personId",
      used.role, used.role_max as "roleMax",
      used.window_requests as calls, used.window_started_at as "windowStartedAt",
      selected.id as "projectId", selected.name as "projectName",
      set_config('synchronous_commit', 'off', true)
    from used
    left join project selected on selected.id = used.project_id
      and selected.organisation_id = used.organisation_id`.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { roleMax, ...use } = row
  return { ...use, role: actingRole({ role: row.role, roleMax }) }
}

/** The role that it acts with; undefined once the agent may do nothing any more. */
export async function findRoleOfAgent(
  db: Db,
  id: string,
  nowMs: number,
): Promise<Role | undefined> {
  const row = await db
    .selectFrom('agent')
    .innerJoin('membership', (join) =>
      join
        .onRef('membership.organisation_id', '=', 'agent.organisation_id')
        .onRef('membership.person_id', '=', 'agent.person_id'),
    )
    .select(['membership.role', 'agent.role_max as roleMax'])
    .where('agent.id', '=', id)
    .where(isLive(new Date(nowMs)))
    .executeTakeFirst()
  return row && actingRole(row)
}

export async function insertAgent(
  db: Db,
  agent: Pick<Agent, 'id' | 'organisationId' | 'personId' | 'name' | 'tokenHint'> &
    Pick<Agent, 'expiresAt' | 'createdAt'> & { tokenHash: Buffer },
): Promise<void> {
  await db
    .insertInto('agent')
    .values({
      id: agent.id,
      organisation_id: agent.organisationId,
      person_id: agent.personId,
      name: agent.name,
      token_hash: agent.tokenHash,
      token_hint: agent.tokenHint,
      expires_at: agent.expiresAt,
      created_at: agent.createdAt,
    })
    .execute()
}

/** The agents of an organisation, oldest first, revoked and expired ones included. */
export async function listAgents(db: Db, organisationId: string): Promise<Agent[]> {
  return await agents(db)
    .where('agent.organisation_id', '=', organisationId)
    .orderBy('agent.id')
    .execute()
}

export async function findAgent(db: Db, id: string): Promise<Agent | undefined> {
  return await agents(db).where('agent.id', '=', id).executeTakeFirst()
}

/** The project that it acts in from its next call on. */
export async function selectProject(db: Db, id: string, projectId: string): Promise<void> {
  await db.updateTable('agent').set({ project_id: projectId }).where('id', '=', id).execute()
}

export async function revokeAgent(db: Db, id: string, now: Date): Promise<void> {
  await db
    .updateTable('agent')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
}

/** Gives an agent to another member; it never acts with more than `roleMax`. */
export async function handAgent(
  db: Db,
  id: string,
  { personId, roleMax }: { personId: string; roleMax: Role },
): Promise<void> {
  await db
    .updateTable('agent')
    .set({ person_id: personId, role_max: roleMax })
    .where('id', '=', id)
    .execute()
}

function actingRole({ role, roleMax }: { role: string; roleMax: string | null }): Role {
  return roleMax === null ? roleOf(role) : lowerOf(roleOf(role), roleOf(roleMax))
}

function isLive(now: Date) {
  return sql<boolean>`agent.revoked_at is null and (agent.expires_at is null or agent.expires_at > ${now})`
}

function agents(db: Db) {
  return db
    .selectFrom('agent')
    .innerJoin('person', 'person.id', 'agent.person_id')
    .select([
      'agent.id',
      'agent.organisation_id as organisationId',
      'agent.person_id as personId',
      'person.email',
      'agent.name',
      'agent.token_hint as tokenHint',
      'agent.role_max as roleMax',
      'agent.project_id as projectId',
      'agent.expires_at as expiresAt',
      'agent.revoked_at as revokedAt',
      'agent.window_started_at as lastUsedAt',
      'agent.last_used_from as lastUsedFrom',
      'agent.created_at as createdAt',
    ])
}

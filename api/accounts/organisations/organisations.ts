import { roleOf, type Role } from '../../../core/accounts/role.ts'
import { administerPlan } from '../../../core/billing/change-plan.ts'
import { timestamp, type Clock } from '../../../core/clock.ts'
import { findMember } from '../../../core/db/accounts/memberships.ts'
import type { Ledger } from '../../../core/db/billing/ledger.ts'
import {
  findApiKey,
  insertApiKey,
  revokeApiKey,
  setPermissions,
  type ApiKey,
} from '../../../core/db/configuration/api-keys.ts'
import {
  findOrganisation,
  insertOrganisation,
  lockOrganisation,
  setOrganisationName,
  type Organisation,
} from '../../../core/db/configuration/organisations.ts'
import { findProject, insertProject } from '../../../core/db/configuration/projects.ts'
import { ensurePartitions } from '../../../core/db/connection/day-partitions.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { writeAudit, type Actor } from '../../../core/db/requests/audit.ts'
import { refuse, refuseField } from '../../../core/errors.ts'
import { encodeId, newId } from '../../../core/ids.ts'
import { makeApiKey } from '../../../core/keys/api-key.ts'
import { grantsAnything, type Permissions } from '../../../core/keys/permissions.ts'
import {
  entitlementsOf,
  retentionClassOf,
  type EntitlementOverrides,
  type PlanName,
  type Plans,
} from '../../../core/plans/plans.ts'
import { refuseMissing } from '../../http/failure.ts'

/** Actions of a person at a dashboard or a command line; no API key can do them. (spec: Authentication 6) */
export interface Tenancy {
  db: Db
  clock: Clock
  plans: Plans
  ledger: Ledger
  /** Recorded in the audit. */
  actor: Actor
}

const DEFAULT_PROJECT_NAME = 'Default'

/** An organisation with its default project, and the partitions that its events will go to. */
export async function createOrganisation(
  tenancy: Tenancy,
  wish: { name: string; plan: PlanName },
): Promise<{ organisation: Organisation; defaultProjectId: string }> {
  const { db, clock } = tenancy
  const made = await db
    .transaction()
    .execute(async (tx) => await addOrganisation(tx, tenancy, wish))
  await ensurePartitions(db, clock.now())
  return made
}

/** The same in a transaction, after which the partitions are still to be made. */
export async function addOrganisation(
  tx: Db,
  { clock, plans, actor }: Omit<Tenancy, 'db'>,
  { name, plan, isSignedUp = false }: { name: string; plan: PlanName; isSignedUp?: boolean },
): Promise<{ organisation: Organisation; defaultProjectId: string }> {
  const now = new Date(clock.now())
  const organisation: Organisation = {
    id: newId(now.getTime()),
    name,
    plan,
    overrides: {},
    retentionClass: retentionClassOf(entitlementsOf(plans, plan, {}).retentionDays),
    createdAt: now,
    updatedAt: now,
  }
  const project = {
    id: newId(now.getTime()),
    organisationId: organisation.id,
    name: DEFAULT_PROJECT_NAME,
    isDefault: true,
    metadata: {},
    createdAt: now,
    updatedAt: now,
  }
  await insertOrganisation(tx, { ...organisation, isSignedUp })
  await insertProject(tx, project)
  await writeAudit(
    tx,
    {
      organisationId: organisation.id,
      projectId: null,
      actor,
      action: 'organisation.create',
      subjectKind: 'organisation',
      subjectId: organisation.id,
      changes: { name, plan },
    },
    now.getTime(),
  )
  return { organisation, defaultProjectId: project.id }
}

/** Two organisations may have the same name: ids tell them apart. */
export async function renameOrganisation(
  { db, clock, actor }: Tenancy,
  id: string,
  name: string,
): Promise<void> {
  const now = clock.now()
  await db.transaction().execute(async (tx) => {
    const { name: before } = (await lockOrganisation(tx, id)) ?? refuseMissing('org', id)
    if (before === name) return
    await setOrganisationName(tx, id, { name, updatedAt: new Date(now) })
    const subject = { subjectKind: 'organisation', subjectId: id, changes: { name, before } }
    const action = 'organisation.update'
    await writeAudit(tx, { organisationId: id, projectId: null, actor, action, ...subject }, now)
  })
}

/** Events that are stored from now on are kept as the new plan says; a subscription goes on with it. */
export async function changePlan(
  tenancy: Tenancy,
  id: string,
  plan: PlanName,
): Promise<Organisation> {
  return await administer(tenancy, id, () => ({ plan }))
}

/** A negotiated plan: what it was, or nothing, with `set` on top. (decisions: Billing and plans) */
export async function overridePlan(
  tenancy: Tenancy,
  id: string,
  { clear, set }: { clear: boolean; set: EntitlementOverrides },
): Promise<Organisation> {
  return await administer(tenancy, id, (organisation) => ({
    overrides: { ...(clear ? {} : organisation.overrides), ...set },
  }))
}

/** Running processes learn of it from the change table. */
async function administer(
  tenancy: Tenancy,
  id: string,
  wish: (organisation: Organisation) => Parameters<typeof administerPlan>[3],
): Promise<Organisation> {
  const { db, clock, actor } = tenancy
  const changed = await db.transaction().execute(async (tx) => {
    const found = (await lockOrganisation(tx, id)) ?? refuseMissing('org', id)
    await administerPlan(tx, tenancy, { organisationId: id, actor }, wish(found))
    return (await findOrganisation(tx, id)) ?? refuseMissing('org', id)
  })
  await ensurePartitions(db, clock.now())
  return changed
}

/** The permissions of a new key; null makes an unscoped one. */
export interface KeyWish {
  organisationId: string
  projectId: string | null
  name: string
  permissions: Permissions | null
  expiresAt: Date | null
  keyPrefix: string
  /** The person who makes it; none at the command line. */
  maker?: Maker
}

/** A person who makes or changes a key: they may be removed, or get another role, while their request comes in. */
export interface Maker {
  personId: string
  /** Refuses what their role may not do. */
  demand: (role: Role) => void
}

/** The key's record and, this once, its text. */
export async function createKey(
  { db, clock, actor }: Tenancy,
  { keyPrefix, maker, ...wish }: KeyWish,
): Promise<{ key: ApiKey; text: string }> {
  const now = new Date(clock.now())
  refuseEmpty(wish.permissions)
  if (wish.expiresAt !== null && wish.expiresAt <= now) {
    refuseField('expires', `Expected a moment after ${timestamp(now.getTime())}`)
  }
  const { text, hash, hint } = makeApiKey(keyPrefix)
  const key: ApiKey = {
    ...wish,
    id: newId(now.getTime()),
    secretHint: hint,
    revokedAt: null,
    createdBy: maker?.personId ?? null,
    lastUsedAt: null,
    lastUsedFrom: null,
    createdAt: now,
    updatedAt: now,
  }
  await db.transaction().execute(async (tx) => {
    const { organisationId, projectId } = wish
    if ((await findOrganisation(tx, organisationId)) === undefined) {
      refuseMissing('org', organisationId)
    }
    if (maker !== undefined) await demandStill(tx, organisationId, maker)
    const reach = { organisationId, projectId: undefined }
    if (projectId !== null && (await findProject(tx, reach, projectId)) === undefined) {
      refuseMissing('prj', projectId)
    }
    await insertApiKey(tx, { ...key, secretHash: hash })
    await auditKey(tx, key, { actor, action: 'api_key.create', now })
  })
  return { key, text }
}

/** Changes of members hold the same lock. */
async function demandStill(
  tx: Db,
  organisationId: string,
  { personId, demand }: Maker,
): Promise<void> {
  await lockOrganisation(tx, organisationId)
  const member = await findMember(tx, organisationId, personId)
  if (member === undefined) refuseMissing('org', organisationId)
  demand(roleOf(member.role))
}

/** The chosen permissions exactly, from the next request on. (spec: Authentication 7) */
export async function rescopeKey(
  { db, clock, actor }: Tenancy,
  id: string,
  permissions: Permissions,
  maker?: Maker,
): Promise<ApiKey> {
  refuseEmpty(permissions)
  const now = new Date(clock.now())
  return await db.transaction().execute(async (tx) => {
    const found = (await findApiKey(tx, id)) ?? refuseMissing('key', id)
    if (maker !== undefined) await demandStill(tx, found.organisationId, maker)
    if (found.revokedAt !== null) {
      refuse('CONFLICT', `Cannot rescope API key "${encodeId('key', id)}": it is revoked`)
    }
    await setPermissions(tx, id, permissions, now)
    const key = { ...found, permissions, updatedAt: now }
    await auditKey(tx, key, { actor, action: 'api_key.rescope', now })
    return key
  })
}

/** For good; a key that is revoked already stays as it is. (spec: Authentication 8) */
export async function endKey({ db, clock, actor }: Tenancy, id: string): Promise<ApiKey> {
  const now = new Date(clock.now())
  return await db.transaction().execute(async (tx) => {
    const found = (await findApiKey(tx, id)) ?? refuseMissing('key', id)
    if (found.revokedAt !== null) return found
    await revokeApiKey(tx, id, now)
    await auditKey(tx, found, { actor, action: 'api_key.revoke', now })
    return { ...found, revokedAt: now, updatedAt: now }
  })
}

function refuseEmpty(permissions: Permissions | null): void {
  if (permissions !== null && !grantsAnything(permissions)) {
    refuseField('permission', 'Expected at least one resource with read or write')
  }
}

async function auditKey(
  tx: Db,
  key: ApiKey,
  { actor, action, now }: { actor: Actor; action: string; now: Date },
): Promise<void> {
  const { organisationId, projectId, name, permissions } = key
  await writeAudit(
    tx,
    {
      organisationId,
      projectId,
      actor,
      action,
      subjectKind: 'api_key',
      subjectId: key.id,
      changes: { name, permissions },
    },
    now.getTime(),
  )
}

import { sql } from 'kysely'

import { timestamp } from '../../../clock.ts'
import { DestinationColumns } from '../../configuration/destinations.ts'
import type { Db } from '../../connection/db.ts'
import { recordOperationalEvents } from '../../processes/operational-events.ts'
import { writeAudit } from '../../requests/audit.ts'

const SendingColumns = DestinationColumns.omit({ mode: true })

/** A destination's row with its organisation's plan, as a worker needs it. */
export type DestinationRow = ReturnType<typeof toDestinationRow>

/** The same row as it is stored. */
export type StoredDestination = Awaited<ReturnType<typeof deliveryDestinations>>[number]

/** Undefined when the destination was deleted. */
export async function findDeliveryDestination(
  db: Db,
  id: string,
): Promise<DestinationRow | undefined> {
  const [row] = await deliveryDestinations(db, [id])
  return row && toDestinationRow(row)
}

/** The rows of these destinations as they are stored, save deleted ones: `toDestinationRow` reads them. */
export async function deliveryDestinations(db: Db, ids: readonly string[]) {
  return await db
    .selectFrom('destination')
    .innerJoin('organisation', 'organisation.id', 'destination.organisation_id')
    .leftJoin('destination_busy', 'destination_busy.destination_id', 'destination.id')
    .select([
      'destination.id',
      'destination.organisation_id as organisationId',
      'destination.url',
      'destination.connector_id as connectorId',
      // The deliveries of an organisation that moves wait as behind a destination that is switched off.
      sql<boolean>`destination.is_enabled and organisation.state = 'running'`.as('isEnabled'),
      'destination.method',
      'destination.auth',
      'destination.secrets',
      'destination.previous_signing_secret_expires_at as previousSigningSecretExpiresAt',
      'destination.timeout_ms as timeoutMs',
      'destination.rate_limit as rateLimit',
      'destination.rate_limit_period',
      'destination.max_concurrency as maxConcurrency',
      'destination.retry_policy',
      'destination.resumed_at as resumedAt',
      'destination_busy.since as busySince',
      'destination_busy.until as busyUntil',
      'destination_busy.response_status as busyStatus',
      'organisation.plan',
      'organisation.overrides',
    ])
    .where(sql<boolean>`destination.id = any(${ids}::uuid[])`)
    .execute()
}

/** Throws when a newer version stored what this one cannot read. */
export function toDestinationRow(row: StoredDestination) {
  const { method, auth, ...read } = SendingColumns.parse(row)
  return {
    ...row,
    method,
    auth,
    retryPolicy: read.retry_policy,
    rateLimitPeriod: read.rate_limit_period,
  }
}

/** Takes a destination out of service that said it is gone for good. (decisions: Resources, RetryPolicy, 410) */
export async function disableDestination(
  db: Db,
  id: string,
  reason: 'gone',
  nowMs: number,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const disabled = await switchOff(tx, { id, reason }, nowMs)
    if (disabled === undefined) return
    const { organisationId, projectId, name } = disabled
    await recordOperationalEvents(tx, [
      {
        organisationId,
        projectId,
        kind: 'destination.disabled',
        subjectId: id,
        occasion: `${reason} ${timestamp(nowMs)}`,
        details: { name, reason },
        atMs: nowMs,
      },
    ])
  })
}

/**
 * Takes a destination out of service in the transaction that tells its owner. False when its run of failures has ended,
 * or when it is disabled already.
 */
export async function disableFailing(
  tx: Db,
  run: { destinationId: string; failingSinceMs: number },
  nowMs: number,
): Promise<boolean> {
  const { destinationId: id, failingSinceMs } = run
  return (await switchOff(tx, { id, reason: 'failing', failingSinceMs }, nowMs)) !== undefined
}

/** With its audit row. Undefined when it is off already: of many who find the same out, one does it. */
async function switchOff(
  tx: Db,
  { id, reason, failingSinceMs }: { id: string; reason: string; failingSinceMs?: number },
  nowMs: number,
): Promise<{ organisationId: string; projectId: string; name: string } | undefined> {
  let update = tx
    .updateTable('destination')
    .set({
      is_enabled: false,
      disabled_reason: reason,
      health: 'disabled',
      updated_at: new Date(nowMs),
    })
    .where('id', '=', id)
    .where('is_enabled', '=', true)
  if (failingSinceMs !== undefined) {
    update = update.where('id', 'in', (failing) =>
      failing
        .selectFrom('destination_failure')
        .select('destination_id')
        .where('destination_id', '=', id)
        .where('failing_since', '=', new Date(failingSinceMs)),
    )
  }
  const disabled = await update
    .returning(['organisation_id as organisationId', 'project_id as projectId', 'name'])
    .executeTakeFirst()
  if (disabled === undefined) return undefined
  const entry = {
    organisationId: disabled.organisationId,
    projectId: disabled.projectId,
    actor: { name: 'postern', address: null },
    action: 'destination.disable',
    subjectKind: 'destination',
    subjectId: id,
    changes: { isEnabled: false, disabledReason: reason },
  }
  await writeAudit(tx, entry, nowMs)
  return disabled
}

/** When each scope may next send, in milliseconds since the epoch. */
export async function readPacing(
  db: Db,
  scopeIds: readonly string[],
): Promise<Map<string, number>> {
  if (scopeIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('pacing')
    .select(['scope_id', 'tat'])
    .where('scope_id', 'in', scopeIds)
    .execute()
  return new Map(rows.map((row) => [row.scope_id, row.tat.getTime()]))
}

/** Keeps the later of the stored and the given moment: a late writer cannot set a scope back. */
export async function writePacing(
  db: Db,
  moments: readonly { scopeId: string; tatMs: number }[],
): Promise<void> {
  if (moments.length === 0) return
  await db
    .insertInto('pacing')
    .values(moments.map(({ scopeId, tatMs }) => ({ scope_id: scopeId, tat: new Date(tatMs) })))
    .onConflict((conflict) =>
      conflict
        .column('scope_id')
        .doUpdateSet({ tat: (set) => set.fn('greatest', ['pacing.tat', 'excluded.tat']) }),
    )
    .execute()
}

import { sql } from 'kysely'

import { firstIdAt } from '../../ids.ts'
import type { OrganisationState } from '../configuration/tables.ts'
import type { Db } from '../connection/db.ts'
import { readWatermark } from '../deliveries/upkeep/sweep.ts'
import { writeAudit, type Actor } from '../requests/audit.ts'

export async function stateOf(
  db: Db,
  organisationId: string,
): Promise<OrganisationState | undefined> {
  const row = await db
    .selectFrom('organisation')
    .select('state')
    .where('id', '=', organisationId)
    .executeTakeFirst()
  return row?.state
}

/** With its audit row. Ingest and workers follow within a second or two. */
export async function setState(
  db: Db,
  organisationId: string,
  { state, actor, nowMs }: { state: OrganisationState; actor: Actor; nowMs: number },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('organisation')
      .set({ state, updated_at: new Date(nowMs) })
      .where('id', '=', organisationId)
      .where('state', '<>', state)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return
    const entry = {
      organisationId,
      projectId: null,
      actor,
      action: `organisation.${VERBS[state]}`,
      subjectKind: 'organisation',
      subjectId: organisationId,
      changes: { state },
    }
    await writeAudit(tx, entry, nowMs)
  })
}

const VERBS = { running: 'start', stopped: 'stop', closed: 'close' } as const

/** Whether an attempt of the organisation's deliveries from before a moment may be under way. */
export async function hasUnderWay(
  db: Db,
  organisationId: string,
  beforeMs: number,
): Promise<boolean> {
  const watermark = await readWatermark(db)
  const { rows } = await sql<{ isUnderWay: boolean }>`
    select exists (
      select from delivery_waiting
      where project_id in (select id from project where organisation_id = ${organisationId}::uuid)
        and claimed_by is not null
    ) or exists (
      select from delivery d
      where d.project_id in (select id from project where organisation_id = ${organisationId}::uuid)
        and d.id >= ${watermark}::uuid and d.id < ${firstIdAt(beforeMs)}::uuid
        and d.status in ('pending', 'throttled', 'in_flight')
        and not exists (select from delivery_waiting w where w.delivery_id = d.id)
    ) as "isUnderWay"`.execute(db)
  return rows[0]?.isUnderWay !== false
}

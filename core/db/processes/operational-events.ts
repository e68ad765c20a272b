import type { Selectable } from 'kysely'
import { z } from 'zod'

import { firstIdAt, newId } from '../../ids.ts'
import type { Db } from '../connection/db.ts'
import type { Tables } from '../tables.ts'

const PRUNE_BATCH = 5_000

const Kind = z.enum(['destination.failing', 'destination.disabled', 'destination.recovered'])

/** Something that an organisation must hear of although nobody asked. (decisions: Accounts, dashboard, agents) */
export interface OperationalEvent {
  organisationId: string
  projectId: string | null
  kind: z.infer<typeof Kind>
  subjectId: string
  /** A second event of the same kind, subject and occasion is not recorded. */
  occasion: string
  details: Record<string, unknown>
  atMs: number
}

/** To be called in the transaction of what happened. */
export async function recordOperationalEvents(
  db: Db,
  events: readonly OperationalEvent[],
): Promise<void> {
  if (events.length === 0) return
  await db
    .insertInto('operational_event')
    .values(
      events.map((event) => ({
        id: newId(event.atMs),
        organisation_id: event.organisationId,
        project_id: event.projectId,
        kind: event.kind,
        subject_id: event.subjectId,
        occasion: event.occasion,
        details: JSON.stringify(event.details),
        at: new Date(event.atMs),
      })),
    )
    .onConflict((conflict) => conflict.columns(['subject_id', 'kind', 'occasion']).doNothing())
    .execute()
}

/** Oldest first, behind the event `afterId`. */
export async function listOperationalEvents(
  db: Db,
  organisationId: string,
  { limit, afterId }: { limit: number; afterId: string | undefined },
): Promise<(OperationalEvent & { id: string })[]> {
  let query = db
    .selectFrom('operational_event')
    .selectAll()
    .where('organisation_id', '=', organisationId)
  if (afterId !== undefined) query = query.where('id', '>', afterId)
  const rows = await query.orderBy('id').limit(limit).execute()
  return rows.map(toEvent)
}

/** The oldest event that has not become an alert, locked; undefined when there is none that is free. */
export async function takeUnalerted(
  tx: Db,
): Promise<(OperationalEvent & { id: string }) | undefined> {
  const row = await tx
    .selectFrom('operational_event')
    .selectAll()
    .where('alerted_at', 'is', null)
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  return row && toEvent(row)
}

export async function markAlerted(tx: Db, id: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('operational_event')
    .set({ alerted_at: new Date(nowMs) })
    .where('id', '=', id)
    .execute()
}

/** Deletes some of the events from before `beforeMs`. */
export async function deleteOldOperationalEvents(db: Db, beforeMs: number): Promise<void> {
  await db
    .deleteFrom('operational_event')
    .where('id', 'in', (old) =>
      old
        .selectFrom('operational_event')
        .select('id')
        .where('id', '<', firstIdAt(beforeMs))
        .limit(PRUNE_BATCH),
    )
    .execute()
}

function toEvent(row: Selectable<Tables['operational_event']>): OperationalEvent & { id: string } {
  return {
    id: row.id,
    organisationId: row.organisation_id,
    projectId: row.project_id,
    kind: Kind.parse(row.kind),
    subjectId: row.subject_id,
    occasion: row.occasion,
    details: row.details,
    atMs: row.at.getTime(),
  }
}

import type { Db } from '../connection/db.ts'

/** Events of one source, status and moment that are counted and not stored. */
export interface EventCount {
  atMs: number
  projectId: string
  sourceId: string
  status: string
  rejectionReason: string
  events: number
}

/** Counts events in the statistics. The statement that stores events counts them itself. */
export async function countEvents(db: Db, counts: readonly EventCount[]): Promise<void> {
  if (counts.length === 0) return
  await db
    .insertInto('event_delta')
    .values(
      counts.map((count) => ({
        at: new Date(count.atMs),
        project_id: count.projectId,
        source_id: count.sourceId,
        status: count.status,
        rejection_reason: count.rejectionReason,
        events: count.events,
      })),
    )
    .execute()
}

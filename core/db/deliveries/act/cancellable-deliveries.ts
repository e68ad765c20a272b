import { sql } from 'kysely'

import type { Db } from '../../connection/db.ts'
import { withoutPruning } from '../../connection/partition-pruning.ts'
import { cancelLocked } from './cancellations.ts'

/** A delivery with all that says whether a worker has it, or is about to. */
export interface CancellableDelivery {
  retentionClass: number
  id: string
  projectId: string
  destinationId: string
  status: string
  /** Lease of its first attempt: until then it is in the stream or in flight. */
  leaseUntil: Date | null
  isWaiting: boolean
  nextAt: Date | null
  /** The worker that has its waiting row until `nextAt`. */
  claimedBy: string | null
}

export async function readCancellable(
  db: Db,
  deliveries: readonly { retentionClass: number; id: string }[],
): Promise<CancellableDelivery[]> {
  const { rows } = await sql<CancellableDelivery>`
    select d.class as "retentionClass", d.id, d.project_id as "projectId", d.destination_id as "destinationId", d.status,
      d.lease_until as "leaseUntil", w.delivery_id is not null as "isWaiting", w.next_at as "nextAt",
      w.claimed_by as "claimedBy"
    from delivery d left join delivery_waiting w on w.delivery_id = d.id
    where d.class = any(${classesOf(deliveries)}::int2[]) and d.id = any(${idsOf(deliveries)}::uuid[])
    order by d.id`.execute(db)
  return rows
}

/**
 * Cancels the deliveries whose lease is unchanged since they were read, and returns their ids. Skips rows that another
 * transaction has locked: a claim locks the waiting row first and a result the delivery, so that waiting for both could
 * deadlock.
 */
export async function cancelUnchanged(
  tx: Db,
  read: readonly CancellableDelivery[],
  now: Date,
): Promise<Set<string>> {
  await withoutPruning(tx)
  const waiting = await sql<Pick<CancellableDelivery, 'id' | 'nextAt' | 'claimedBy'>>`
    select delivery_id as id, next_at as "nextAt", claimed_by as "claimedBy" from delivery_waiting
    where delivery_id = any(${idsOf(read)}::uuid[]) for update skip locked`.execute(tx)
  const first = await sql<Pick<CancellableDelivery, 'id' | 'status' | 'leaseUntil'>>`
    select id, status, lease_until as "leaseUntil" from delivery
    where class = any(${classesOf(read)}::int2[]) and id = any(${idsOf(read)}::uuid[])
    for update skip locked`.execute(tx)
  const rows = new Map(waiting.rows.map((row) => [row.id, row]))
  const deliveries = new Map(first.rows.map((row) => [row.id, row]))
  const unchanged = read.filter((one) => {
    const row = rows.get(one.id)
    const delivery = deliveries.get(one.id)
    return (
      delivery?.status === one.status &&
      sameMoment(delivery.leaseUntil, one.leaseUntil) &&
      (row !== undefined) === one.isWaiting &&
      (row?.claimedBy ?? null) === one.claimedBy &&
      sameMoment(row?.nextAt ?? null, one.nextAt)
    )
  })
  await cancelLocked(tx, unchanged, now)
  return new Set(unchanged.map(({ id }) => id))
}

function sameMoment(one: Date | null, other: Date | null): boolean {
  return one?.getTime() === other?.getTime()
}

function classesOf(deliveries: readonly { retentionClass: number }[]): number[] {
  return [...new Set(deliveries.map((delivery) => delivery.retentionClass))]
}

function idsOf(deliveries: readonly { id: string }[]): string[] {
  return deliveries.map(({ id }) => id)
}

import { sql } from 'kysely'

import type { Db } from './db.ts'

/** How long a holder that stopped renewing keeps the others out. */
export const LEASE_HELD_MS = 5_000

/**
 * Takes or renews a lease by name. Returns its epoch, which grows with every change of holder, or undefined while
 * another holds it. A restarted process of the same name takes its own lease back at once.
 */
export async function holdLease(
  db: Db,
  name: string,
  holder: string,
  nowMs: number,
): Promise<number | undefined> {
  const until = new Date(nowMs + LEASE_HELD_MS)
  const row = await db
    .insertInto('lease')
    .values({ name, holder, epoch: 1, held_until: until })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({
          epoch: sql<number>`lease.epoch + (lease.holder <> excluded.holder)::int`,
          holder,
          held_until: until,
        })
        .where((where) =>
          where.or([
            where('lease.holder', '=', holder),
            where('lease.held_until', '<', new Date(nowMs)),
          ]),
        ),
    )
    .returning('epoch')
    .executeTakeFirst()
  return row?.epoch
}

/** Lets the next in line take over at once. */
export async function releaseLease(db: Db, name: string, holder: string): Promise<void> {
  await db
    .updateTable('lease')
    .set({ held_until: new Date(0) })
    .where('name', '=', name)
    .where('holder', '=', holder)
    .execute()
}

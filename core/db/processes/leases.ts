import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/** How long a holder that stopped renewing keeps the others out. */
export const LEASE_HELD_MS = 5_000

/** A lease that ends so much later than a lease can was written before the clock was set back. */
const FOREIGN_MS = 1_000

/**
 * Takes or renews a lease by name. Returns its epoch, which grows with every change of holder, or undefined while
 * another holds it. A restarted process of the same name takes its own lease back at once. All times are the database's:
 * the clocks of processes may differ. A lease that was written before that clock was set back ends when it would have, for
 * whoever asks for it next.
 */
export async function holdLease(db: Db, name: string, holder: string): Promise<number | undefined> {
  const held = sql`${LEASE_HELD_MS}::int4 * interval '1 millisecond'`
  const isFree = sql`lease.held_until < excluded.held_until - ${held}`
  const { rows } = await sql<{ epoch: number; isOurs: boolean }>`
    insert into lease (name, holder, epoch, held_until) values (${name}, ${holder}, 1, clock_timestamp() + ${held})
    on conflict (name) do update set
      epoch = lease.epoch + (lease.holder <> excluded.holder and ${isFree})::int,
      holder = case when ${isFree} then excluded.holder else lease.holder end,
      held_until = excluded.held_until
    where lease.holder = excluded.holder or ${isFree}
      or lease.held_until > excluded.held_until + ${FOREIGN_MS}::int4 * interval '1 millisecond'
    returning epoch, holder = ${holder} as "isOurs"`.execute(db)
  const [row] = rows
  return row?.isOurs === true ? row.epoch : undefined
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

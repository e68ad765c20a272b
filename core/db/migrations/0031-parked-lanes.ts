import { sql, type Kysely } from 'kysely'

/** A worker reads the lanes with parked rows of its own partitions alone. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      'create index delivery_waiting_parked on delivery_waiting (partition, destination_id) where next_at is null',
    )
    .execute(db)
}

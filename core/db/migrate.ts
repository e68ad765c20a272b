import { Migrator } from 'kysely/migration'

import { ensurePartitions } from './connection/day-partitions.ts'
import type { Db } from './connection/db.ts'
import { buildLateIndexes } from './lists/late-indexes.ts'
import { MIGRATIONS } from './migrations/index.ts'

/**
 * Brings the schema up to date and makes the partitions of the coming days. Returns the migrations that ran.
 * Kysely's own lock lets two installers of one database wait for each other.
 */
export async function migrate(db: Db, nowMs: number): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error !== undefined) throw new Error('Cannot migrate the database', { cause: error })
  await buildLateIndexes(db)
  await ensurePartitions(db, nowMs)
  return results.map((result) => result.migrationName)
}

import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'

import { ensurePartitions } from './connection/day-partitions.ts'
import type { Db } from './connection/db.ts'
import { buildLateIndexes } from './lists/late-indexes.ts'
import { MIGRATIONS } from './migrations/index.ts'

/**
 * Brings the schema up to date and makes the partitions of the coming days. Returns the migrations that ran.
 * Kysely's own lock lets two installers of one database wait for each other. A newer schema stays as it is: this version works
 * on it, since a migration takes away nothing that the version before needs.
 */
export async function migrate(db: Db, nowMs: number): Promise<string[]> {
  if (await isNewer(db)) return []
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error !== undefined) throw new Error('Cannot migrate the database', { cause: error })
  await buildLateIndexes(db)
  await ensurePartitions(db, nowMs)
  return results.map((result) => result.migrationName)
}

/** Whether the schema has all migrations of this version, and later ones. */
export async function isNewer(db: Db): Promise<boolean> {
  const { rows: tables } = await sql<{ exists: boolean }>`
    select to_regclass('kysely_migration') is not null as exists`.execute(db)
  if (tables[0]?.exists !== true) return false
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  const done = new Set(rows.map(({ name }) => name))
  const known = Object.keys(MIGRATIONS)
  const last = known.at(-1) ?? ''
  const later = [...done].filter((name) => !(name in MIGRATIONS))
  return (
    later.length > 0 && later.every((name) => name > last) && known.every((name) => done.has(name))
  )
}

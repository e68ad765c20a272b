import { openClock } from '../../core/clock.ts'
import { readMigrateConfig } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { isNewer, migrate } from '../../core/db/migrate.ts'
import { checkDatabase } from '../../core/db/usable.ts'
import { openLog } from '../../core/log.ts'
import { usableWithin, warnOfMisspelt } from '../../core/start-up.ts'

/** A database that is installed or started beside us has this long. */
const WAIT_MS = 30_000

try {
  const config = readMigrateConfig(process.env)
  const log = openLog(config.LOG_LEVEL, 'migrate')
  warnOfMisspelt(process.env, log)
  const clock = openClock(config.TEST_CLOCK_FILE)
  await usableWithin(() => checkDatabase(config.DATABASE_URL, false), {
    withinMs: WAIT_MS,
    say: (reason) => log.warn({ service: 'PostgreSQL', reason }, 'Waiting for a service'),
  })
  // A migration may take as long as it needs: no statement timeout.
  const pool = openPool({ url: config.DATABASE_URL, max: 2, log, statementTimeoutMs: 0 })
  await using db = openDb(pool)
  if (await isNewer(db)) log.info('The schema is of a newer version: nothing to migrate')
  else log.info({ migrations: await migrate(db, clock.now()) }, 'Migrated the database')
} catch (error) {
  process.stderr.write(`${wordsOf(error)}\n`)
  process.exitCode = 1
}

/** Says in a line what failed and why. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error && error.name === 'Error'
    ? `${error.message}: ${error.cause.message}`
    : error.message
}

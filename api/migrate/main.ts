import { openClock } from '../../core/clock.ts'
import { readMigrateConfig } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/db.ts'
import { migrate } from '../../core/db/migrate.ts'
import { openLog } from '../../core/log.ts'

const config = readMigrateConfig(process.env)
const log = openLog(config.LOG_LEVEL, 'migrate')
const clock = openClock(config.TEST_CLOCK_FILE)
// A migration may take as long as it needs: no statement timeout.
const pool = openPool({ url: config.DATABASE_URL, max: 2, log, statementTimeoutMs: 0 })
await using db = openDb(pool)

const migrations = await migrate(db, clock.now())
log.info({ migrations }, 'Migrated the database')

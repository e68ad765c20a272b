import { openClock } from '../../core/clock.ts'
import { readSettings } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/db.ts'
import { openLog } from '../../core/log.ts'
import { databaseUrlOf, UsageError } from './arguments.ts'
import { readCommand } from './commands.ts'
import { HELP } from './help.ts'

try {
  const settings = readSettings(process.env)
  const run = readCommand(process.argv.slice(2))
  if (run === 'help') {
    process.stdout.write(HELP)
  } else {
    const log = openLog('silent', 'admin')
    const pool = openPool({ url: databaseUrlOf(settings), max: 2, log })
    await using db = openDb(pool)
    const clock = openClock(settings.TEST_CLOCK_FILE)
    const answer = await run({ db, clock, actor: 'admin', settings })
    process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
  }
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${message}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

import { openClock } from '../../core/clock.ts'
import { readSettings } from '../../core/config.ts'
import { recordFacts } from '../../core/db/billing/ledger.ts'
import { openDb, openPool } from '../../core/db/db.ts'
import { openLog } from '../../core/log.ts'
import { readPlans } from '../../core/plans/plans-file.ts'
import { databaseUrlOf, UsageError } from './arguments.ts'
import { readCommand } from './commands.ts'

try {
  const settings = readSettings(process.env)
  const run = readCommand(process.argv.slice(2))
  if ('help' in run) {
    process.stdout.write(run.help)
  } else {
    const log = openLog('silent', 'admin')
    const pool = openPool({ url: databaseUrlOf(settings), max: 2, log })
    await using db = openDb(pool)
    const clock = openClock(settings.TEST_CLOCK_FILE)
    const plans = readPlans(settings.PLANS_FILE)
    const ledger = recordFacts
    const answer = await run({ db, clock, plans, ledger, actor: 'admin', settings })
    process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
  }
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${message}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

import { openClock } from '../../core/clock.ts'
import { readAdminSettings } from '../../core/config.ts'
import { recordFacts } from '../../core/db/billing/ledger.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { checkDatabase } from '../../core/db/usable.ts'
import { openLog } from '../../core/log.ts'
import { readPlans } from '../../core/plans/plans-file.ts'
import { misspeltSettings } from '../../core/settings/setting-names.ts'
import { usableWithin } from '../../core/start-up.ts'
import { plainJson, plainText } from '../../core/this-machine/plain-text.ts'
import { databaseUrlOf, UsageError } from './arguments.ts'
import { readCommand } from './commands.ts'

/** The command line is on no address of its own. */
const ADMIN = { name: 'admin', address: null }

/** A person waits for the answer. */
const WAIT_MS = 5_000

try {
  const run = readCommand(process.argv.slice(2))
  if ('help' in run) {
    process.stdout.write(run.help)
  } else {
    const settings = readAdminSettings(process.env)
    for (const line of misspeltSettings(process.env)) process.stderr.write(`${line}\n`)
    const log = openLog('silent', 'admin')
    const url = databaseUrlOf(settings)
    await usableWithin(() => checkDatabase(url), { withinMs: WAIT_MS })
    const pool = openPool({ url, max: 2, log })
    await using db = openDb(pool)
    const clock = openClock(settings.TEST_CLOCK_FILE)
    const plans = readPlans(settings.PLANS_FILE)
    const ledger = recordFacts
    const answer = await run({ db, clock, plans, ledger, actor: ADMIN, settings })
    process.stdout.write(`${plainJson(answer)}\n`)
  }
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${plainText(message, { keepsLines: true })}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

import { timestamp } from '../../../core/clock.ts'
import { listLedger, type LedgerEntry } from '../../../core/db/billing/ledger.ts'
import { organisationArgument, type Command } from '../command.ts'
import { everyRow } from '../every-row.ts'

const list: Command = {
  positionals: [],
  options: ['organisation'],
  help: {
    usage: '[--organisation <org_…>]',
    text: 'All that was metered and all that changed what is metered, oldest first. The sum of deliveries over the rows of a window is the number that was counted in it.',
    example: 'ledger list --organisation org_01h455vb4pex5vsknk084sn02q',
  },
  read({ options }) {
    const organisation = organisationArgument(options.organisation)
    return async (context) => {
      const organisationId = await organisation(context)
      const entries = await everyRow((page) => listLedger(context.db, organisationId, page))
      return entries.map(viewEntry)
    }
  },
}

export const LEDGER_COMMANDS: Readonly<Record<string, Command>> = { list }

function viewEntry(entry: LedgerEntry): Record<string, unknown> {
  const { kind, plan, window, deliveries, overage, details, atMs } = entry
  return {
    at: timestamp(atMs),
    kind,
    plan,
    window: window && { start: timestamp(window.startedAtMs), end: timestamp(window.endsAtMs) },
    deliveries,
    overage,
    details,
  }
}

import { runRetention } from '../../../core/retention/run-retention.ts'
import type { Command } from '../command.ts'

const run: Command = {
  positionals: [],
  options: [],
  help: {
    usage: '',
    text:
      'Purges now what is past its retention and prints what it did. The relay does it every night by itself. Can be\n' +
      'interrupted and run again; refused while another run is under way.',
    example: 'retention run',
  },
  read:
    () =>
    async ({ db, clock, plans }) => {
      const { signal } = new AbortController()
      const report = await runRetention({ db, clock, plans, signal }, clock.now())
      if (report === undefined) throw new Error('Cannot run retention: another run is under way')
      return report
    },
}

export const RETENTION_COMMANDS: Readonly<Record<string, Command>> = { run }

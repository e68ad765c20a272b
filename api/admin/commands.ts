import { readWords, UsageError } from './arguments.ts'
import type { Command, Run } from './command.ts'
import { AGENT_COMMANDS } from './commands/agents.ts'
import { KEY_COMMANDS } from './commands/keys.ts'
import { LEDGER_COMMANDS } from './commands/ledger.ts'
import { NOTICE_COMMANDS } from './commands/notices.ts'
import { ORGANISATION_COMMANDS } from './commands/organisations.ts'
import { PROJECT_COMMANDS } from './commands/projects.ts'
import { RETENTION_COMMANDS } from './commands/retention.ts'
import { SECRET_COMMANDS } from './commands/secrets.ts'
import { SOURCE_COMMANDS } from './commands/sources.ts'
import { USER_COMMANDS } from './commands/users.ts'
import { helpOf, helpOfNoun, helpOfVerb } from './help.ts'

/** Every noun with its verbs, in the order of the help. */
const NOUNS: Readonly<Record<string, Readonly<Record<string, Command>>>> = {
  organisations: ORGANISATION_COMMANDS,
  projects: PROJECT_COMMANDS,
  keys: KEY_COMMANDS,
  users: USER_COMMANDS,
  agents: AGENT_COMMANDS,
  sources: SOURCE_COMMANDS,
  ledger: LEDGER_COMMANDS,
  notices: NOTICE_COMMANDS,
  secrets: SECRET_COMMANDS,
  retention: RETENTION_COMMANDS,
}

/** Returns the action that the words ask for, or the help. Throws a UsageError before anything is touched. */
export function readCommand(args: readonly string[]): Run | { help: string } {
  const words = readWords(args)
  const [noun, verb] =
    words.noun === 'help' ? [words.verb, words.positionals[0]] : [words.noun, words.verb]
  const isHelp = words.options.help === true || words.noun === 'help'
  if (noun === undefined) return { help: helpOf(NOUNS) }
  const verbs = Object.hasOwn(NOUNS, noun) ? NOUNS[noun] : undefined
  const name = `${noun} ${verb ?? ''}`.trim()
  if (verbs === undefined) throw new UsageError(unknown(name, Object.keys(NOUNS)))
  if (isHelp && verb === undefined) return { help: helpOfNoun(noun, verbs) }
  const command = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (command === undefined) {
    throw new UsageError(
      unknown(
        name,
        Object.keys(verbs).map((known) => `${noun} ${known}`),
      ),
    )
  }
  if (isHelp) return { help: helpOfVerb(name, command) }
  const { positionals, options } = words
  if (positionals.length !== command.positionals.length) {
    const wanted = command.positionals.map((one) => `<${one}>`).join(' ') || 'no arguments'
    throw new UsageError(`${name} takes ${wanted} (${name} --help)`)
  }
  const foreign = Object.keys(options).find(
    (option) => !command.options.some((known) => known === option),
  )
  if (foreign !== undefined) {
    throw new UsageError(`${name} has no option --${foreign} (${name} --help)`)
  }
  return command.read(words)
}

function unknown(name: string, choices: readonly string[]): string {
  return `Unknown command "${name}". There is: ${choices.join(', ')} (--help)`
}

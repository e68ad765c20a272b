import { RESOURCES } from '../../core/keys/permissions.ts'
import { PLAN_NAMES } from '../../core/plans/plans.ts'
import type { Command } from './command.ts'

type Verbs = Readonly<Record<string, Command>>

const RUN = 'npm run admin --'

const WORDS = `Plans: ${PLAN_NAMES.join(', ')}
Resources: ${RESOURCES.join(', ')}
Levels: none, read, write
Times: 2026-11-20T09:00:00Z
--organisation may be left out when there is only one.`

/** The help of `npm run admin`. */
export function helpOf(nouns: Readonly<Record<string, Verbs>>): string {
  const verbs = Object.entries(nouns).map(([noun, commands]) =>
    Object.entries(commands)
      .map(([verb, command]) => usageOf(`${noun} ${verb}`, command))
      .join('\n'),
  )
  return `Administration of a Postern installation. Speaks to the database, prints JSON, needs no running relay.

  ${RUN} <noun> <verb> [arguments] [options]
  ${RUN} <noun> <verb> --help

${verbs.join('\n\n')}

${WORDS}

The database is DATABASE_URL, or that of the installation in DATA_DIR (.postern).
The answer is JSON on the standard output. A fault is one line of text on the standard error, and nothing on the
standard output. Exit code 0: done. 1: refused or failed. 2: not understood, nothing was touched.
`
}

export function helpOfNoun(noun: string, verbs: Verbs): string {
  const parts = Object.entries(verbs).map(([verb, command]) => describe(`${noun} ${verb}`, command))
  return `${parts.join('\n\n')}\n\n${WORDS}\n`
}

export function helpOfVerb(name: string, command: Command): string {
  return `${describe(name, command)}\n\n${WORDS}\n`
}

function describe(name: string, command: Command): string {
  return `${usageOf(name, command)}
      ${command.help.text.replaceAll('\n', '\n      ')}
      Example: ${RUN} ${command.help.example}`
}

/** Further lines of a long usage stand under the first one's options. */
function usageOf(name: string, { help }: Command): string {
  const indent = ' '.repeat(name.length + 3)
  return `  ${name} ${help.usage.replaceAll('\n', `\n${indent}`)}`.trimEnd()
}

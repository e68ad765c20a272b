import type { Settings } from '../../core/config.ts'
import { listOrganisations } from '../../core/db/configuration/organisations.ts'
import type { Tenancy } from '../accounts/organisations/organisations.ts'
import { idArgument, UsageError, type OptionName, type Words } from './arguments.ts'

/** A verb gets the database, the clock, its name in the audit, and the settings. */
export interface Context extends Tenancy {
  settings: Settings
}

/** Does what was asked for; the answer is printed as JSON. */
export type Run = (context: Context) => Promise<unknown>

/** A verb of a noun, such as `keys create`. */
export interface Command {
  /** Names of the arguments behind the verb. */
  positionals: readonly string[]
  options: readonly OptionName[]
  help: {
    /** Its arguments and options, as a person would type them. */
    usage: string
    /** Its effect, in a sentence or two. */
    text: string
    /** Complete, behind `npm run admin --`. */
    example: string
  }
  /** Throws a UsageError before anything is touched. */
  read(words: Words): Run
}

/** The organisation that is named, or the only one. */
export function organisationArgument(
  text: string | undefined,
): (context: Context) => Promise<string> {
  const id = text === undefined ? undefined : idArgument('org', text)
  return async ({ db }) => {
    if (id !== undefined) return id
    const [only, ...others] = await listOrganisations(db)
    if (only === undefined)
      throw new Error('There is no organisation: make one with organisations create')
    if (others.length > 0)
      throw new UsageError('There are several organisations: name one with --organisation')
    return only.id
  }
}

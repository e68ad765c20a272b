import { timestamp } from '../../../core/clock.ts'
import { lastExport } from '../../../core/db/moving/exports.ts'
import { encodeId } from '../../../core/ids.ts'
import { exportOrganisation, type ExportChoice } from '../../../core/moving/export-organisation.ts'
import { importOrganisation } from '../../../core/moving/import-organisation.ts'
import { Moment } from '../../http/fields.ts'
import { idArgument, keyringOf, textArgument, UsageError, type Words } from '../arguments.ts'
import type { Command, Context, Run } from '../command.ts'
import {
  openOrganisationFile,
  refuseFile,
  writeOrganisationFile,
  type OrganisationFile,
} from '../organisation-file.ts'

/** Events of the last hour go along with any choice of time: first attempts among them may have no row yet that waits. */
const RECENT_MS = 3_600_000

const exportVerb: Command = {
  positionals: ['org_…'],
  options: ['file', 'key-file', 'events', 'rest'],
  help: {
    usage: '<org_…> --file <path> --key-file <path> (--events <all|none|time> | --rest)',
    text:
      'Writes an organisation into a file, for organisations import of another installation: configuration with its\n' +
      'secrets, members, history, and its events (with a time: those since then, and all that still wait). --rest writes\n' +
      'the events that came after the last export, and nothing else. The file is sealed under the key in the key file,\n' +
      'which is made if it is not there; bring the two to the target by different ways.',
    example:
      'organisations export org_01h455vb4pex5vsknk084sn02q --file acme.postern --key-file acme.key --events all',
  },
  read: readExport,
}

const importVerb: Command = {
  positionals: [],
  options: ['file', 'key-file'],
  help: {
    usage: '--file <path> --key-file <path>',
    text:
      'Imports what organisations export wrote. Ids, addresses, keys and credentials stay; secrets are sealed under\n' +
      'POSTERN_ENCRYPTION_KEY of this installation. The organisation stays stopped until organisations start. A file that\n' +
      'was cut or changed is refused before anything is imported. Can be interrupted and run again.',
    example: 'organisations import --file acme.postern --key-file acme.key',
  },
  read({ options }) {
    const file = fileArguments(options)
    return async (context) => {
      const keyring = keyringOf(context.settings)
      const read = await openOrganisationFile(file)
      const { exportId, organisationId, isNew } = await importOrganisation(
        { ...context, keyring },
        read,
      )
      return { id: encodeId('org', organisationId), exportId, isNew }
    }
  },
}

export const MOVING_COMMANDS: Readonly<Record<string, Command>> = {
  export: exportVerb,
  import: importVerb,
}

function readExport({ positionals: [id = ''], options }: Words): Run {
  const organisationId = idArgument('org', id)
  const file = fileArguments(options)
  const isRest = options.rest === true
  if (isRest === (options.events !== undefined)) {
    throw new UsageError('organisations export needs --events or --rest (--help)')
  }
  const chosen = options.events === undefined ? undefined : eventsArgument(options.events)
  return async (context) => {
    const { clock } = context
    const keyring = keyringOf(context.settings)
    await refuseFile(file.path)
    const choice: ExportChoice =
      chosen === undefined
        ? { kind: 'rest', after: await exportBefore(context, organisationId) }
        : { kind: 'whole', eventsSinceMs: chosen(clock.now()) }
    const wish = { organisationId, choice }
    const exported = await exportOrganisation(
      { ...context, keyring },
      wish,
      async (lines) => await writeOrganisationFile(file, lines),
    )
    return { id, ...exported, file: file.path, at: timestamp(clock.now()) }
  }
}

async function exportBefore({ db }: Context, organisationId: string) {
  const before = await lastExport(db, organisationId)
  if (before !== undefined) return before
  throw new Error('Cannot export the rest: there is no export that it would follow')
}

/** Since when events go along, at the moment of the export; undefined for none. */
function eventsArgument(text: string): (nowMs: number) => number | undefined {
  if (text === 'none') return () => undefined
  if (text === 'all') return () => 0
  const sinceMs = textArgument('events', Moment, text)
  return (nowMs) => Math.min(sinceMs, nowMs - RECENT_MS)
}

function fileArguments(options: Words['options']): OrganisationFile {
  const { file: path, 'key-file': keyPath } = options
  if (path === undefined) throw new UsageError('--file is missing')
  if (keyPath === undefined) throw new UsageError('--key-file is missing')
  return { path, keyPath }
}

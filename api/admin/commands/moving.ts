import { timestamp } from '../../../core/clock.ts'
import { deleteExports, lastExport } from '../../../core/db/moving/exports.ts'
import { isImporting } from '../../../core/db/moving/imports.ts'
import { setState, stateOf } from '../../../core/db/moving/organisation-states.ts'
import { encodeId } from '../../../core/ids.ts'
import { exportOrganisation, type ExportChoice } from '../../../core/moving/export-organisation.ts'
import { importOrganisation } from '../../../core/moving/import-organisation.ts'
import { stopOrganisation } from '../../../core/moving/stop-organisation.ts'
import { refuseMissing } from '../../http/failure.ts'
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

const stop: Command = {
  positionals: ['org_…'],
  options: [],
  help: {
    usage: '<org_…>',
    text:
      'Stops the deliveries of an organisation, to move it: its events are stored and wait, and nothing of it can be changed\n' +
      'over the API. Ends when no attempt is under way, two minutes later at most. Can be run again.',
    example: 'organisations stop org_01h455vb4pex5vsknk084sn02q',
  },
  read: ({ positionals: [id = ''] }) => readStop(id, 'stopped'),
}

const close: Command = {
  positionals: ['org_…'],
  options: [],
  help: {
    usage: '<org_…>',
    text:
      'Stops an organisation that has moved from taking events too: senders get 503 with Retry-After, and find it at the\n' +
      'other installation when they try again. Then organisations export --rest has all that came here.',
    example: 'organisations close org_01h455vb4pex5vsknk084sn02q',
  },
  read: ({ positionals: [id = ''] }) => readStop(id, 'closed'),
}

const start: Command = {
  positionals: ['org_…'],
  options: ['take-back'],
  help: {
    usage: '<org_…> [--take-back]',
    text:
      'Starts an organisation that was imported or stopped: what waits is delivered. With --take-back one that was exported\n' +
      'starts here again; no other installation may have started it, or deliveries are made twice.',
    example: 'organisations start org_01h455vb4pex5vsknk084sn02q',
  },
  read({ positionals: [id = ''], options }) {
    const organisationId = idArgument('org', id)
    const isTakenBack = options['take-back'] === true
    return async ({ db, clock, actor }) => {
      await demandState(db, organisationId)
      if (await isImporting(db, organisationId)) {
        throw new Error('Cannot start: its import has not ended, run organisations import again')
      }
      if (isTakenBack) await deleteExports(db, organisationId)
      else if ((await lastExport(db, organisationId)) !== undefined) {
        throw new Error(
          'Cannot start: it was exported, and another installation may have started it',
        )
      }
      await setState(db, organisationId, { state: 'running', actor, nowMs: clock.now() })
      return { id, state: 'running' }
    }
  },
}

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
  stop,
  close,
  start,
  export: exportVerb,
  import: importVerb,
}

function readStop(id: string, state: 'stopped' | 'closed'): Run {
  const organisationId = idArgument('org', id)
  return async (context) => {
    const before = await demandState(context.db, organisationId)
    if (state === 'closed' && before === 'running') {
      throw new Error('Cannot close: stop the organisation and export it first')
    }
    // A closed organisation stays closed: it would take events again.
    const next = before === 'closed' ? 'closed' : state
    if (!(await stopOrganisation(context, organisationId, next))) {
      throw new Error('Stopped, and attempts are still under way: run this again')
    }
    return { id, state: next }
  }
}

/** Refuses an organisation that is not here. */
async function demandState(db: Context['db'], organisationId: string) {
  return (await stateOf(db, organisationId)) ?? refuseMissing('org', organisationId)
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
    if ((await demandState(context.db, organisationId)) === 'running') {
      throw new Error('Cannot export: stop the organisation first (organisations stop)')
    }
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

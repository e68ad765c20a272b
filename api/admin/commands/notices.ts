import { timestamp } from '../../../core/clock.ts'
import {
  listOperationalEvents,
  type OperationalEvent,
} from '../../../core/db/processes/operational-events.ts'
import { encodeId } from '../../../core/ids.ts'
import { organisationArgument, type Command } from '../command.ts'
import { everyRow } from '../every-row.ts'

const list: Command = {
  positionals: [],
  options: ['organisation'],
  help: {
    usage: '[--organisation <org_…>]',
    text: 'Lists what an organisation must hear of, oldest first: destinations that fail, were disabled or recovered.',
    example: 'notices list --organisation org_01h455vb4pex5vsknk084sn02q',
  },
  read({ options }) {
    const organisation = organisationArgument(options.organisation)
    return async (context) => {
      const organisationId = await organisation(context)
      const events = await everyRow((page) =>
        listOperationalEvents(context.db, organisationId, page),
      )
      return events.map(viewNotice)
    }
  },
}

export const NOTICE_COMMANDS: Readonly<Record<string, Command>> = { list }

function viewNotice(event: OperationalEvent): Record<string, unknown> {
  const { kind, projectId, subjectId, details, atMs } = event
  return {
    at: timestamp(atMs),
    kind,
    projectId: projectId === null ? null : encodeId('prj', projectId),
    subjectId: encodeId('dst', subjectId),
    details,
  }
}

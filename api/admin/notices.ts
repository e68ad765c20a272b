import { timestamp } from '../../core/clock.ts'
import { listOperationalEvents, type OperationalEvent } from '../../core/db/operational-events.ts'
import { encodeId } from '../../core/ids.ts'
import { organisationArgument, type Command } from './command.ts'

const PAGE = 500

const list: Command = {
  positionals: [],
  options: ['organisation'],
  help: {
    usage: '[--organisation <org_…>]',
    text: 'What an organisation must hear of, oldest first: destinations that fail, were disabled or recovered.',
    example: 'notices list --organisation org_01h455vb4pex5vsknk084sn02q',
  },
  read({ options }) {
    const organisation = organisationArgument(options.organisation)
    return async (context) => {
      const organisationId = await organisation(context)
      const notices: unknown[] = []
      for (let afterId: string | undefined, isLast = false; !isLast;) {
        const page = await listOperationalEvents(context.db, organisationId, {
          limit: PAGE,
          afterId,
        })
        notices.push(...page.map(viewNotice))
        afterId = page.at(-1)?.id
        isLast = page.length < PAGE
      }
      return notices
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

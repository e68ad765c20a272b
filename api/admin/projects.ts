import { listProjects } from '../../core/db/projects.ts'
import { viewProject } from '../shapes/project.ts'
import { organisationArgument, type Command, type Context } from './command.ts'

const list: Command = {
  positionals: [],
  options: ['organisation'],
  help: {
    usage: '[--organisation <org_…>]',
    text: 'All projects of an organisation, oldest first.',
    example: 'projects list --organisation org_01h455vb4pex5vsknk084sn02q',
  },
  read: ({ options }) => {
    const organisation = organisationArgument(options.organisation)
    return async (context) => await allProjects(context, await organisation(context))
  },
}

export const PROJECT_COMMANDS: Readonly<Record<string, Command>> = { list }

async function allProjects({ db }: Context, organisationId: string): Promise<unknown[]> {
  const reach = { organisationId, projectId: undefined }
  const projects: unknown[] = []
  for (let after: { value: string; id: string } | undefined, isLast = false; !isLast;) {
    const page = { limit: 100, sortBy: 'createdAt', sortDir: 'asc', after } as const
    const rows = await listProjects(db, reach, page)
    const shown = rows.slice(0, page.limit)
    projects.push(...shown.map(viewProject))
    isLast = rows.length <= page.limit
    after = { value: '', id: shown.at(-1)?.id ?? '' }
  }
  return projects
}

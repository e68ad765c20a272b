import { listProjects } from '../../../core/db/configuration/projects.ts'
import { viewProject } from '../../projects/shape.ts'
import { organisationArgument, type Command, type Context } from '../command.ts'
import { everyRow } from '../every-row.ts'

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
  const projects = await everyRow(async ({ limit, afterId }) => {
    const after = afterId === undefined ? undefined : { value: '', id: afterId }
    const rows = await listProjects(db, reach, {
      limit,
      sortBy: 'createdAt',
      sortDir: 'asc',
      after,
    })
    // Whoever lists for a page reads one row more than it holds.
    return rows.slice(0, limit)
  })
  return projects.map(viewProject)
}

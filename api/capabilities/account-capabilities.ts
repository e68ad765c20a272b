import { z } from 'zod'

import { selectProject } from '../../core/db/accounts/agents.ts'
import { decodeId } from '../../core/ids.ts'
import { Id } from '../http/fields.ts'
import { Project } from '../projects/shape.ts'
import { ofAccount, ShownProject } from './capability.ts'
import { listed, NextCursor, Page } from './inputs.ts'

const read = { resource: 'projects', level: 'read' } as const

const ListedProject = ShownProject.extend({
  isDefault: z.boolean().describe('The default project of the organisation.'),
  isSelected: z.boolean().describe('This agent acts in it unless a call names another.'),
})

export const ACCOUNT_CAPABILITIES = [
  ofAccount({
    name: 'account.list_projects',
    title: 'List projects',
    description: 'Lists the projects of the organisation, and says which one is selected.',
    permission: read,
    annotations: { readOnlyHint: true },
    input: z.strictObject(Page),
    output: z.object({
      data: z.array(ListedProject).describe('The projects of this page, by name.'),
      nextCursor: NextCursor,
    }),
    async run({ agent, input, ask }) {
      const query = { ...input, sortBy: 'name', sortDir: 'asc' }
      const list = await ask('listProjects', { query }, listed(Project))
      const data = list.data.map((project) => ({
        ...project,
        isSelected: decodeId('prj', project.id) === agent.selected?.id,
      }))
      return { data, nextCursor: list.nextCursor }
    },
  }),
  ofAccount({
    name: 'account.select_project',
    title: 'Select a project',
    description:
      'Selects the project that this agent acts in from its next call on. The choice is kept with the token: it outlives connections, and holds for every client with the same token.',
    permission: read,
    annotations: { readOnlyHint: false },
    input: z.strictObject({
      projectId: Id('prj').describe('The project; account.list_projects lists them.'),
    }),
    output: z.object({ project: ShownProject }),
    async run({ deps, agent, input, ask }) {
      const project = await ask('getProject', { params: { id: input.projectId } }, Project)
      await selectProject(deps.db, agent.id, decodeId('prj', project.id) ?? '')
      return { project }
    },
  }),
]

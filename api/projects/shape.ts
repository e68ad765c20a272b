import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Project as Row } from '../../core/db/configuration/projects.ts'
import { encodeId } from '../../core/ids.ts'
import { Id, Metadata, Name, ShownName, Timestamp } from '../http/fields.ts'

export const Project = z
  .object({
    id: Id('prj').describe('Begins with `prj_`; the header `X-Project-Id` takes it.'),
    organisationId: Id('org').describe('The organisation that it belongs to.'),
    name: ShownName.describe('Its name, which is unique in the organisation.'),
    isDefault: z.boolean().describe('Keys for all projects act in it unless they name another.'),
    metadata: Metadata,
    createdAt: Timestamp.describe('When it was created.'),
    updatedAt: Timestamp.describe('When it was last changed.'),
  })
  .meta({
    id: 'Project',
    description: 'A part of an organisation that holds sources, destinations and connections.',
  })

const changeable = {
  name: Name.describe('A name of your choice, unique in the organisation.'),
  metadata: Metadata.nullable().describe('Your own texts about it; null is none.'),
}

const Changes = z
  .strictObject(changeable)
  .partial()
  .meta({ id: 'ProjectChanges', description: 'The members to change; the others stay.' })

export const ProjectCreate = Changes.required({ name: true }).meta({
  id: 'ProjectCreate',
  description: 'A project to create.',
})

export const ProjectUpsert = ProjectCreate.partial({ name: true }).meta({
  id: 'ProjectUpsert',
  description: 'A whole project. The path names it; `name`, if given, must be the same.',
})

export const ProjectUpdate = z
  .strictObject({ data: Changes })
  .meta({ id: 'ProjectUpdate', description: 'A change of a project.' })

export function viewProject(row: Row): z.input<typeof Project> {
  return {
    id: encodeId('prj', row.id),
    organisationId: encodeId('org', row.organisationId),
    name: row.name,
    isDefault: row.isDefault,
    metadata: row.metadata,
    createdAt: timestamp(row.createdAt.getTime()),
    updatedAt: timestamp(row.updatedAt.getTime()),
  }
}

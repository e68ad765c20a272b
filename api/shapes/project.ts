import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Project as Row } from '../../core/db/configuration/projects.ts'
import { encodeId } from '../../core/ids.ts'
import { Id, Metadata, Name, Timestamp } from '../fields.ts'

export const Project = z
  .object({
    id: Id('prj'),
    organisationId: Id('org'),
    name: Name,
    isDefault: z.boolean(),
    metadata: Metadata,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Project' })

const changeable = { name: Name, metadata: Metadata.nullable() }

export const ProjectCreate = z
  .strictObject({ ...changeable, metadata: Metadata.nullish() })
  .meta({ id: 'ProjectCreate' })

/** The path has the name. */
export const ProjectUpsert = ProjectCreate.partial({ name: true }).meta({ id: 'ProjectUpsert' })

export const ProjectUpdate = z
  .strictObject({ data: z.strictObject(changeable).partial() })
  .meta({ id: 'ProjectUpdate' })

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

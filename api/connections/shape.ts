import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Connection as Row } from '../../core/db/configuration/connections.ts'
import { encodeId } from '../../core/ids.ts'
import { Filter } from '../../core/match/filter.ts'
import { Id, IdInput, Metadata, Name, ShownName, Timestamp } from '../http/fields.ts'

export const Connection = z
  .object({
    id: Id('con').describe('Begins with `con_`; deliveries name it as `connectionId`.'),
    projectId: Id('prj').describe('The project whose source and destination it joins.'),
    name: ShownName.describe('Its name, which is unique in the project.'),
    sourceId: Id('src').describe('The source whose events it takes.'),
    destinationId: Id('dst').describe('The destination that it delivers to.'),
    isEnabled: z.boolean().describe('A disabled connection gets no new deliveries.'),
    filter: Filter.nullable().describe('The condition for events; null matches every event.'),
    metadata: Metadata,
    createdAt: Timestamp.describe('When it was created.'),
    updatedAt: Timestamp.describe('When it was last changed.'),
  })
  .meta({
    id: 'Connection',
    description: 'A rule that sends the events of a source to a destination.',
  })

const changeable = {
  name: Name.describe('A name of your choice, unique in the project.'),
  sourceId: IdInput('src').describe('The source whose events it takes.'),
  destinationId: IdInput('dst').describe('The destination that it delivers to.'),
  isEnabled: z
    .boolean()
    .nullable()
    .describe('A disabled connection gets no new deliveries. True by default.'),
  filter: Filter.nullable().describe('The condition for events; null matches every event.'),
  metadata: Metadata.nullable().describe('Your own texts about it; null is none.'),
}

const Changes = z
  .strictObject(changeable)
  .partial()
  .meta({ id: 'ConnectionChanges', description: 'The members to change; the others stay.' })

export const ConnectionCreate = Changes.required({
  name: true,
  sourceId: true,
  destinationId: true,
}).meta({ id: 'ConnectionCreate', description: 'A connection to create.' })

export const ConnectionUpsert = ConnectionCreate.partial({ name: true }).meta({
  id: 'ConnectionUpsert',
  description: 'A whole connection. The path names it; `name`, if given, must be the same.',
})

export const ConnectionUpdate = z
  .strictObject({ data: Changes })
  .meta({ id: 'ConnectionUpdate', description: 'A change of a connection.' })

export function viewConnection(row: Row): z.input<typeof Connection> {
  return {
    id: encodeId('con', row.id),
    projectId: encodeId('prj', row.projectId),
    name: row.name,
    sourceId: encodeId('src', row.sourceId),
    destinationId: encodeId('dst', row.destinationId),
    isEnabled: row.isEnabled,
    filter: row.filter,
    metadata: row.metadata,
    createdAt: timestamp(row.createdAt.getTime()),
    updatedAt: timestamp(row.updatedAt.getTime()),
  }
}

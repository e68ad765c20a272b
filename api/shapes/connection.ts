import { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import type { Connection as Row } from '../../core/db/configuration/connections.ts'
import { encodeId } from '../../core/ids.ts'
import { Filter as AnyFilter, storedFilter } from '../../core/match/filter.ts'
import { Id, IdInput, Metadata, Name, Timestamp } from '../fields.ts'

/** (decisions: Resources, Filter) */
export const Filter = AnyFilter.meta({ id: 'Filter' })

export const Connection = z
  .object({
    id: Id('con'),
    projectId: Id('prj'),
    name: Name,
    sourceId: Id('src'),
    destinationId: Id('dst'),
    isEnabled: z.boolean(),
    filter: Filter.nullable(),
    metadata: Metadata,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Connection' })

const changeable = {
  name: Name,
  isEnabled: z.boolean().nullable(),
  filter: Filter.nullable(),
  metadata: Metadata.nullable(),
}

export const ConnectionCreate = z
  .strictObject({
    name: Name,
    sourceId: IdInput('src'),
    destinationId: IdInput('dst'),
    isEnabled: changeable.isEnabled.optional(),
    filter: changeable.filter.optional(),
    metadata: changeable.metadata.optional(),
  })
  .meta({ id: 'ConnectionCreate' })

/** The path has the name. */
export const ConnectionUpsert = ConnectionCreate.partial({ name: true }).meta({
  id: 'ConnectionUpsert',
})

export const ConnectionUpdate = z
  .strictObject({
    data: z
      .strictObject({
        ...changeable,
        sourceId: IdInput('src'),
        destinationId: IdInput('dst'),
      })
      .partial(),
  })
  .meta({ id: 'ConnectionUpdate' })

export function viewConnection(row: Row): z.input<typeof Connection> {
  return {
    id: encodeId('con', row.id),
    projectId: encodeId('prj', row.projectId),
    name: row.name,
    sourceId: encodeId('src', row.sourceId),
    destinationId: encodeId('dst', row.destinationId),
    isEnabled: row.isEnabled,
    filter: row.filter === null ? null : storedFilter(row.filter),
    metadata: row.metadata,
    createdAt: timestamp(row.createdAt.getTime()),
    updatedAt: timestamp(row.updatedAt.getTime()),
  }
}

/** The body of every toggle. */
export const Toggle = z.strictObject({ isEnabled: z.boolean() }).meta({ id: 'Toggle' })

import { listOperationalEvents } from '../../core/db/processes/operational-events.ts'
import type { Answer } from './call-api.ts'
import { uuid } from './seed.ts'
import type { World } from './world.ts'

interface Notice {
  kind: string
  details: Answer['body']
}

/** Notices to an owner about a resource, oldest first. */
export async function noticesOf(world: World, resource: Answer['body']): Promise<Notice[]> {
  const organisationId = uuid('org', world.organisationId)
  const events = await listOperationalEvents(world.db, organisationId, {
    limit: 1_000,
    afterId: undefined,
  })
  return events.filter(({ subjectId }) => subjectId === uuid('dst', resource.id))
}

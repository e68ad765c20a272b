import { z } from 'zod'

import { lockByName } from '../../core/db/configuration/by-name.ts'
import type { Connection as Row } from '../../core/db/configuration/connections.ts'
import { newId } from '../../core/ids.ts'
import { route, type Call } from '../http/route.ts'
import { changed } from '../writes/changed.ts'
import {
  placeOf,
  refuseOtherName,
  upsertAnswer,
  upsertResource,
  ENABLED_STAYS,
  UPSERT_RULES,
  type Upserted,
} from '../writes/upsert.ts'
import { CONNECTION, shownChanges } from './resource.ts'
import { Connection, ConnectionUpsert, viewConnection } from './shape.ts'

export const CONNECTION_UPSERT_ROUTES = [
  route({
    method: 'PUT',
    path: '/connections/by-name/:name',
    operationId: 'upsertConnection',
    tag: 'Connections',
    summary: 'Create or change a connection by its name',
    description: `${UPSERT_RULES} ${ENABLED_STAYS}`,
    permission: { resource: 'connections', level: 'write' },
    scope: 'project',
    params: { name: 'name' },
    query: z.strictObject({}),
    body: ConnectionUpsert,
    responses: { 200: Connection, 201: Connection },
    errors: ['CONFLICT'],
    async handle(call) {
      return upsertAnswer(await upsertConnection(call), viewConnection)
    },
  }),
]

async function upsertConnection(
  call: Call<{ name: string }, unknown, z.output<typeof ConnectionUpsert>>,
): Promise<Upserted<Row>> {
  const { params } = call
  const named = placeOf(call)
  const { name, isEnabled, ...body } = call.body
  refuseOtherName(params.name, name)
  const ends = { sourceId: body.sourceId, destinationId: body.destinationId }
  const declared = { ...ends, filter: body.filter ?? null, metadata: body.metadata ?? {} }
  return await upsertResource(call, CONNECTION, {
    idOf: async (tx) => await lockByName(tx, 'connection', named),
    make(now) {
      const fresh = { id: newId(now.getTime()), isEnabled: true, createdAt: now, updatedAt: now }
      return { ...named, ...declared, ...fresh }
    },
    declare(before, now) {
      const enabled = changed(isEnabled, before.isEnabled, true)
      return { ...before, ...declared, isEnabled: enabled, updatedAt: now }
    },
    shown: shownChanges({ ...call.body, name: params.name }),
  })
}

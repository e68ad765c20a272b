import { z } from 'zod'

import { lockByName } from '../../core/db/configuration/by-name.ts'
import type { Destination as Row } from '../../core/db/configuration/destinations.ts'
import { newId } from '../../core/ids.ts'
import { route, type Call } from '../http/route.ts'
import {
  placeOf,
  refuseOtherName,
  upsertAnswer,
  upsertResource,
  ENABLED_STAYS,
  UPSERT_RULES,
  type Upserted,
} from '../writes/upsert.ts'
import { changeDestination, newDestination, shownChanges } from './change.ts'
import { DESTINATION } from './resource.ts'
import {
  Destination,
  DestinationUpsert,
  viewDestination,
  type DestinationChanges,
} from './shape.ts'

export const DESTINATION_UPSERT_ROUTES = [
  route({
    method: 'PUT',
    path: '/destinations/by-name/:name',
    operationId: 'upsertDestination',
    tag: 'Destinations',
    summary: 'Create or change a destination by its name',
    description: `${UPSERT_RULES} ${ENABLED_STAYS} \`auth\` without its secret keeps the stored secret if the type stays the same, and a header whose value is \`***\` keeps its stored value, unless the origin of \`url\` or \`tokenUrl\` changes. The signing secret never changes.`,
    permission: { resource: 'destinations', level: 'write' },
    scope: 'project',
    params: { name: 'name' },
    query: z.strictObject({}),
    body: DestinationUpsert,
    responses: { 200: Destination, 201: Destination },
    errors: ['CONFLICT'],
    async handle(call) {
      const nowMs = call.deps.clock.now()
      return upsertAnswer(await upsertDestination(call), (row) => viewDestination(row, nowMs))
    },
  }),
]

const DESTINATION_DEFAULTS = {
  mode: null,
  connectorId: null,
  method: null,
  headers: null,
  auth: null,
  timeoutMs: null,
  rateLimit: null,
  rateLimitPeriod: null,
  maxConcurrency: null,
  retryPolicy: null,
  metadata: null,
} satisfies Record<Exclude<keyof DestinationChanges, 'name' | 'url' | 'isEnabled'>, null>

async function upsertDestination(
  call: Call<{ name: string }, unknown, z.output<typeof DestinationUpsert>>,
): Promise<Upserted<Row>> {
  const { deps, params } = call
  const named = placeOf(call)
  const { name, ...body } = call.body
  refuseOtherName(params.name, name)
  return await upsertResource(call, DESTINATION, {
    idOf: async (tx) => await lockByName(tx, 'destination', named),
    make: (now) => newDestination(deps, { ...named, id: newId(now.getTime()), url: body.url }, now),
    declare: (before, now) =>
      changeDestination(deps, before, { ...DESTINATION_DEFAULTS, ...body }, { part: 'body', now }),
    shown: shownChanges({ ...body, name: params.name }),
  })
}

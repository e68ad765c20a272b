import { z } from 'zod'

import { lockByName } from '../../core/db/configuration/by-name.ts'
import type { SeenConnector } from '../../core/db/connectors/connectors.ts'
import { demand } from '../auth/principal.ts'
import { route, type Call } from '../http/route.ts'
import { placeOf, refuseOtherName, upsertResource, type Upserted } from '../writes/upsert.ts'
import { changeConnector, newConnector, refuseWithoutGateway } from './change.ts'
import { CONNECTOR } from './resource.ts'
import { Connector, ConnectorUpsert, CreatedConnector, viewConnector } from './shape.ts'

/** For declarative clients. */
export const CONNECTOR_UPSERT = route({
  method: 'PUT',
  path: '/connectors/by-name/:name',
  operationId: 'upsertConnector',
  tag: 'Connectors',
  summary: 'Create or change a connector by its name',
  description:
    'For declarative clients: 201 with the enrolment key if created, which needs the same explicit grant as creating a connector; 200 if updated or already identical (in which case nothing is written). The body is the whole configuration: a member that is left out takes its default. `isDisabled` is the exception: it stays as it is.',
  permission: { resource: 'connectors', level: 'write' },
  scope: 'project',
  params: { name: 'name' },
  query: z.strictObject({}),
  body: ConnectorUpsert,
  responses: { 200: Connector, 201: CreatedConnector },
  isSecret: true,
  errors: ['CONNECTOR_LIMIT_REACHED', 'CONFLICT'],
  async handle(call) {
    const { before, row, enrollmentKey } = await upsertConnector(call)
    const body = viewConnector(row)
    return before === undefined
      ? { status: 201, body: { ...body, enrollmentKey } }
      : { status: 200, body }
  },
})

async function upsertConnector(
  call: Call<{ name: string }, unknown, z.output<typeof ConnectorUpsert>>,
): Promise<Upserted<SeenConnector> & { enrollmentKey: string }> {
  const { deps, principal, params, body } = call
  refuseOtherName(params.name, body.name)
  const named = placeOf(call)
  const made = newConnector(deps, named)
  const declared = { allowedHosts: body.allowedHosts ?? null, metadata: body.metadata ?? null }
  const upserted = await upsertResource(call, CONNECTOR, {
    idOf: async (tx) => await lockByName(tx, 'connector', named),
    make() {
      demand(principal, { resource: 'connectors', level: 'write', isExplicit: true })
      refuseWithoutGateway(deps, 'body')
      return made.row
    },
    declare: (before, now) => changeConnector(before, declared, now),
    shown: { ...body, name: params.name },
  })
  return { ...upserted, enrollmentKey: made.enrollmentKey }
}

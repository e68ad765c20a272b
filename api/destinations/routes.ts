import { z } from 'zod'

import {
  findDestination,
  listDestinations,
  type Destination as Row,
} from '../../core/db/configuration/destinations.ts'
import { newId } from '../../core/ids.ts'
import { refuseMissing } from '../http/failure.ts'
import { Cascade, Toggle } from '../http/fields.ts'
import { listOf, ListQuery, readPage, toList } from '../http/list.ts'
import { route, type Call } from '../http/route.ts'
import { createResource, writeResource } from '../writes/write-resource.ts'
import { changeDestination, newDestination, shownChanges } from './change.ts'
import { removeDestination } from './remove.ts'
import { DESTINATION } from './resource.ts'
import {
  Destination,
  DestinationCreate,
  DestinationUpdate,
  viewDestination,
  type DestinationChanges,
} from './shape.ts'

const tag = 'Destinations'
const read = { resource: 'destinations', level: 'read' } as const
const write = { resource: 'destinations', level: 'write' } as const
const noQuery = z.strictObject({})

export const DESTINATION_ROUTES = [
  route({
    method: 'GET',
    path: '/destinations',
    operationId: 'listDestinations',
    tag,
    summary: 'List the destinations of a project',
    permission: read,
    scope: 'project',
    params: {},
    query: ListQuery,
    body: null,
    responses: { 200: listOf(Destination, 'DestinationList') },
    errors: [],
    async handle({ deps, project, query }) {
      const list = readPage(query, 'destinations', project())
      const rows = await listDestinations(deps.db, project(), list.page)
      const view = (row: Row) => viewDestination(row, deps.clock.now())
      return { status: 200, body: toList(rows, list, view) }
    },
  }),
  route({
    method: 'POST',
    path: '/destinations',
    operationId: 'createDestination',
    tag,
    summary: 'Create a destination',
    permission: write,
    scope: 'project',
    params: {},
    query: noQuery,
    body: DestinationCreate,
    responses: { 201: Destination },
    errors: ['CONFLICT'],
    async handle(call) {
      const row = await createDestination(call)
      return { status: 201, body: viewDestination(row, call.deps.clock.now()) }
    },
  }),
  route({
    method: 'GET',
    path: '/destinations/:id',
    operationId: 'getDestination',
    tag,
    summary: 'Read a destination',
    permission: read,
    scope: 'reach',
    params: { id: 'dst' },
    query: noQuery,
    body: null,
    responses: { 200: Destination },
    errors: [],
    async handle({ deps, reach, params }) {
      const row =
        (await findDestination(deps.db, reach, params.id)) ?? refuseMissing('dst', params.id)
      return { status: 200, body: viewDestination(row, deps.clock.now()) }
    },
  }),
  route({
    method: 'PATCH',
    path: '/destinations/:id',
    operationId: 'updateDestination',
    tag,
    summary: 'Change a destination',
    description:
      'A changed limit or retry policy applies to waiting deliveries too. Another `url` or `auth` ends a busy window, so that waiting deliveries go out. Another origin of `url` or `tokenUrl`, or another type of `auth`, requires you to send again the secrets that would go there.',
    permission: write,
    scope: 'reach',
    params: { id: 'dst' },
    query: noQuery,
    body: DestinationUpdate,
    responses: { 200: Destination },
    errors: ['CONFLICT'],
    async handle(call) {
      const row = await writeDestination(call, call.body.data, {
        verb: 'update',
        part: 'body.data',
      })
      return { status: 200, body: viewDestination(row, call.deps.clock.now()) }
    },
  }),
  route({
    method: 'POST',
    path: '/destinations/:id/toggle',
    operationId: 'toggleDestination',
    tag,
    summary: 'Switch a destination on or off',
    description:
      'Deliveries to a disabled destination wait and go out when it is enabled. Enabling it ends a busy window.',
    permission: write,
    scope: 'reach',
    params: { id: 'dst' },
    query: noQuery,
    body: Toggle,
    responses: { 200: Destination },
    errors: [],
    async handle(call) {
      const row = await writeDestination(call, call.body, { verb: 'toggle', part: 'body' })
      return { status: 200, body: viewDestination(row, call.deps.clock.now()) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/destinations/:id',
    operationId: 'deleteDestination',
    tag,
    summary: 'Delete a destination',
    description:
      'Cancels its waiting deliveries. If connections use the destination, this needs `cascade=true` and a key that may delete connections.',
    permission: { ...write, isExplicit: true },
    scope: 'reach',
    params: { id: 'dst' },
    query: z.strictObject({ cascade: Cascade }),
    body: null,
    responses: { 204: null },
    errors: ['CONFLICT'],
    async handle(call) {
      await removeDestination(call)
      return { status: 204 }
    },
  }),
]

async function createDestination(
  call: Call<object, unknown, z.output<typeof DestinationCreate>>,
): Promise<Row> {
  const { deps, principal, project, body } = call
  const now = new Date(deps.clock.now())
  const given = {
    id: newId(now.getTime()),
    organisationId: principal.organisationId,
    projectId: project(),
    name: body.name,
    url: body.url,
  }
  const row = changeDestination(deps, newDestination(deps, given, now), body, { part: 'body', now })
  return await createResource(call, DESTINATION, row.name, { row, shown: shownChanges(body) })
}

async function writeDestination(
  call: Call<{ id: string }>,
  changes: DestinationChanges,
  { verb, part }: { verb: 'update' | 'toggle'; part: string },
): Promise<Row> {
  const wish = { verb, name: changes.name, part }
  const { row } = await writeResource(call, DESTINATION, wish, (found, now) => ({
    row: changeDestination(call.deps, found, changes, { part, now }),
    shown: shownChanges(changes),
  }))
  return row
}

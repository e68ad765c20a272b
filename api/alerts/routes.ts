import assert from 'node:assert/strict'

import { z } from 'zod'

import {
  acknowledgeAlert,
  countOpenAlerts,
  findAlert,
  listAlerts,
} from '../../core/db/alerts/alert-lists.ts'
import { tellingsOf } from '../../core/db/alerts/alert-notifications.ts'
import { decodeId } from '../../core/ids.ts'
import { ALERT_TELLINGS_SHOWN } from '../../core/limits.ts'
import type { Principal } from '../auth/principal.ts'
import { readCursor, writeCursor } from '../http/cursor.ts'
import { refuseMissing } from '../http/failure.ts'
import { Cursor, Limit, NoMembers } from '../http/fields.ts'
import { route, type Call } from '../http/route.ts'
import { AlertShape, viewAlert } from './shape.ts'

const tag = 'Alerts'
const noQuery = z.strictObject({})

const AlertList = z
  .object({
    data: z.array(AlertShape),
    nextCursor: z.string().nullable(),
    openCount: z.int(),
  })
  .meta({ id: 'AlertList', description: 'A page of alerts, newest first.' })

/** The alerts of a project and of its organisation as a whole, for people at the dashboard. */
export const ALERT_ROUTES = [
  route({
    method: 'GET',
    path: '/alerts',
    operationId: 'listAlerts',
    tag,
    summary: 'List alerts, newest first',
    permission: 'any_key',
    scope: 'project',
    params: {},
    query: z.strictObject({
      state: z.enum(['open', 'closed', 'all']).default('all'),
      limit: Limit,
      cursor: Cursor,
    }),
    body: null,
    responses: { 200: AlertList },
    errors: [],
    async handle({ deps, reach, query: { state, limit, cursor } }) {
      const binding = { kind: 'alerts', ...reach, state }
      const before = readCursor(binding, cursor)?.id
      const now = new Date(deps.clock.now())
      const rows = await listAlerts(deps.db, reach, { state, limit: limit + 1, before }, now)
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      const ids = page.map(({ id }) => id)
      const tellings = await tellingsOf(deps.db, ids, ALERT_TELLINGS_SHOWN)
      return {
        status: 200,
        body: {
          data: page.map((alert) => viewAlert(alert, tellings)),
          nextCursor: last === undefined ? null : writeCursor(binding, { value: '', id: last.id }),
          openCount: await countOpenAlerts(deps.db, reach),
        },
      }
    },
  }),
  route({
    method: 'GET',
    path: '/alerts/:id',
    operationId: 'getAlert',
    tag,
    summary: 'Read an alert',
    permission: 'any_key',
    scope: 'project',
    params: { id: 'alr' },
    query: noQuery,
    body: null,
    responses: { 200: AlertShape },
    errors: [],
    async handle(call) {
      return { status: 200, body: await shownAlert(call) }
    },
  }),
  route({
    method: 'POST',
    path: '/alerts/:id/acknowledge',
    operationId: 'acknowledgeAlert',
    tag,
    summary: 'Say that somebody looks after it: it is not told of again while it flaps',
    permission: 'any_key',
    scope: 'project',
    params: { id: 'alr' },
    query: noQuery,
    body: NoMembers,
    responses: { 200: AlertShape },
    errors: [],
    async handle(call) {
      const { deps, params, principal } = call
      await shownAlert(call)
      const now = new Date(deps.clock.now())
      await acknowledgeAlert(deps.db, params.id, { personId: personOf(principal), now })
      return { status: 200, body: await shownAlert(call) }
    },
  }),
]

async function shownAlert({
  deps,
  reach,
  params,
}: Call<{ id: string }>): Promise<z.input<typeof AlertShape>> {
  const now = new Date(deps.clock.now())
  const alert = (await findAlert(deps.db, reach, params.id, now)) ?? refuseMissing('alr', params.id)
  return viewAlert(alert, await tellingsOf(deps.db, [alert.id], ALERT_TELLINGS_SHOWN))
}

/** These routes are for people alone. */
export function personOf({ actor }: Pick<Principal, 'actor'>): string {
  const id = decodeId('usr', actor.name.replace(/^user:/, ''))
  assert(id !== undefined)
  return id
}

import { z } from 'zod'

import { planSelected } from '../../core/actions/operation-plan.ts'
import { countSelected } from '../../core/actions/selection.ts'
import {
  OPERATION_KINDS,
  OPERATION_NEEDS,
  OPERATION_STATUSES,
  type OperationKind,
} from '../../core/db/operations/operation-kinds.ts'
import {
  cancelOperation,
  countRunning,
  findOperation,
  insertOperation,
  listOperations,
  type Operation as Row,
} from '../../core/db/operations/operations.ts'
import { refuse } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { covers } from '../../core/keys/permissions.ts'
import { OPERATIONS_RUNNING_MAX } from '../../core/limits.ts'
import { wakeHousekeeper } from '../../core/notices/wake.ts'
import { demand, type Principal } from '../auth/principal.ts'
import { entitlementsFor } from '../billing/standing.ts'
import type { Deps } from '../deps.ts'
import { readCursor, writeCursor } from '../http/cursor.ts'
import { refuseMissing } from '../http/failure.ts'
import { Cursor, Limit, NoMembers, SortDir } from '../http/fields.ts'
import { listOf } from '../http/list.ts'
import { route } from '../http/route.ts'
import { audit } from '../writes/transact.ts'
import {
  NewOperation,
  Operation,
  OperationPlan,
  selectedOfBody,
  viewOperation,
  viewPlan,
} from './shape.ts'

const tag = 'Operations'
const noQuery = z.strictObject({})

const OperationQuery = z.strictObject({
  kind: z.enum(OPERATION_KINDS).optional().describe('Only operations of this kind.'),
  status: z.enum(OPERATION_STATUSES).optional().describe('Only operations in this status.'),
  limit: Limit,
  cursor: Cursor,
  sortBy: z.enum(['createdAt']).default('createdAt').describe('The time to sort by.'),
  sortDir: SortDir,
})

export const OPERATION_ROUTES = [
  route({
    method: 'POST',
    path: '/operations',
    operationId: 'createOperation',
    tag,
    summary: 'Retry, replay or cancel everything that a filter matches',
    description:
      'Applies the single-item action (retry, replay or cancel) to every match. Items that this action would refuse are counted as failed. The filter needs at least one member; matches created after this request are not included. A project can have at most 10 running operations.',
    permission: 'any_key',
    needsByKind: OPERATION_NEEDS,
    scope: 'project',
    params: {},
    query: noQuery,
    body: NewOperation,
    responses: { 202: Operation },
    errors: ['CONFLICT'],
    async handle({ deps, principal, project, body }) {
      const row = await makeOperation(deps, principal, { projectId: project(), wish: body })
      wakeHousekeeper(deps.nats)
      return { status: 202, body: viewOperation(row) }
    },
  }),
  route({
    method: 'POST',
    path: '/operations/plan',
    operationId: 'planOperation',
    tag,
    summary: 'Tell how far an operation would reach, without running it',
    description:
      'Counts the matches, oldest first, for at most two seconds and up to 100,000; `truncated` is true if there are more. Says when they are from, which the action would refuse, where deliveries go and how long pacing takes for them.',
    permission: 'any_key',
    needsByKind: OPERATION_NEEDS,
    scope: 'project',
    params: {},
    query: noQuery,
    body: NewOperation,
    responses: { 200: OperationPlan },
    errors: [],
    async handle({ deps, principal, project, body }) {
      const nowMs = deps.clock.now()
      const { organisationId } = principal
      const selected = selectedOfBody(body, nowMs)
      const plan = await entitlementsFor(deps, deps.db, organisationId)
      const place = { projectId: project(), nowMs, plan }
      const planned = await deps.reads.run(
        organisationId,
        async (db) => await planSelected(db, selected, place),
      )
      return { status: 200, body: viewPlan(body.kind, planned) }
    },
  }),
  route({
    method: 'GET',
    path: '/operations',
    operationId: 'listOperations',
    tag,
    summary: 'List operations',
    permission: { resource: 'deliveries', level: 'read' },
    scope: 'project',
    params: {},
    query: OperationQuery,
    body: null,
    responses: { 200: listOf(Operation, 'OperationList') },
    errors: [],
    async handle({ deps, project, query }) {
      const { cursor, limit, kind, status, sortBy, sortDir } = query
      const projectId = project()
      const binding = { kind: 'operations', projectId, of: kind, status, sortBy, sortDir }
      const afterId = readCursor(binding, cursor)?.id
      const page = { limit, sortDir, afterId }
      const rows = await listOperations(deps.db, projectId, { kind, status }, page)
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1) : undefined
      const nextCursor =
        last === undefined ? null : writeCursor(binding, { value: '', id: last.id })
      return { status: 200, body: { data: shown.map(viewOperation), nextCursor } }
    },
  }),
  route({
    method: 'GET',
    path: '/operations/:id',
    operationId: 'getOperation',
    tag,
    summary: 'Read an operation with its progress',
    description: 'Needs Read on deliveries; for a replay, Read on events is enough.',
    permission: 'any_key',
    scope: 'reach',
    params: { id: 'opr' },
    query: noQuery,
    body: null,
    responses: { 200: Operation },
    errors: ['INSUFFICIENT_API_KEY_PERMISSIONS'],
    async handle({ deps, principal, reach, params }) {
      const row =
        (await findOperation(deps.db, reach, params.id)) ?? refuseMissing('opr', params.id)
      demandRead(principal, row.kind)
      return { status: 200, body: viewOperation(row) }
    },
  }),
  route({
    method: 'POST',
    path: '/operations/:id/cancel',
    operationId: 'cancelOperation',
    tag,
    summary: 'Stop an operation',
    description:
      'Stops the operation; items already processed are not undone. Needs the permission that was needed to create it. Returns 409 if it has finished.',
    permission: 'any_key',
    scope: 'reach',
    params: { id: 'opr' },
    query: noQuery,
    body: NoMembers,
    responses: { 200: Operation },
    errors: ['CONFLICT', 'INSUFFICIENT_API_KEY_PERMISSIONS'],
    async handle({ deps, principal, reach, params }) {
      const row = await deps.db.transaction().execute(async (tx) => {
        const found =
          (await findOperation(tx, reach, params.id, { lock: true })) ??
          refuseMissing('opr', params.id)
        demand(principal, OPERATION_NEEDS[found.kind])
        if (found.status !== 'running') {
          refuse('CONFLICT', `Cannot cancel operation: it is ${found.status}`)
        }
        const finishedAt = new Date(deps.clock.now())
        await cancelOperation(tx, found.id, finishedAt)
        await audit(tx, deps, {
          principal,
          projectId: found.projectId,
          kind: 'operation',
          verb: 'cancel',
          id: found.id,
          changes: { processed: found.processed },
        })
        return { ...found, status: 'cancelled' as const, finishedAt }
      })
      return { status: 200, body: viewOperation(row) }
    },
  }),
]

async function makeOperation(
  deps: Deps,
  principal: Principal,
  { projectId, wish }: { projectId: string; wish: z.output<typeof NewOperation> },
): Promise<Row> {
  const now = new Date(deps.clock.now())
  const selected = selectedOfBody(wish, now.getTime())
  const counted = await deps.reads.run(
    principal.organisationId,
    async (db) => await countSelected(db, selected, { projectId, nowMs: now.getTime() }),
  )
  const operation: Row = {
    id: newId(now.getTime()),
    organisationId: principal.organisationId,
    projectId,
    ...selected,
    status: 'running',
    ...counted,
    processed: 0,
    failures: {},
    afterId: null,
    leftOver: [],
    turns: 0,
    finishedAt: null,
  }
  await deps.db.transaction().execute(async (tx) => {
    if ((await countRunning(tx, projectId)) >= OPERATIONS_RUNNING_MAX) {
      refuse('CONFLICT', `Cannot make operation: ${OPERATIONS_RUNNING_MAX} are running already`)
    }
    await insertOperation(tx, operation, now)
    await audit(tx, deps, {
      principal,
      projectId,
      kind: 'operation',
      verb: 'create',
      id: operation.id,
      changes: { kind: wish.kind, filter: viewOperation(operation).filter },
    })
  })
  return operation
}

/** A key that may only replay can follow what it started. */
function demandRead(principal: Principal, kind: OperationKind): void {
  const isReplay = kind === 'replay'
  if (isReplay && covers(principal.permissions, { resource: 'events', level: 'read' })) return
  demand(principal, { resource: 'deliveries', level: 'read' })
}

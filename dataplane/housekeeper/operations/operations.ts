import { findStanding } from '../../../core/billing/find-standing.ts'
import { DAY_MS, type Clock } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  advanceOperation,
  countOutstanding,
  deleteOldOperations,
  dueOperations,
  findRunning,
  postponeOperation,
  takeRunning,
  type Operation,
} from '../../../core/db/operations/operations.ts'
import {
  OPERATION_CHUNK,
  OPERATION_DAYS,
  OPERATION_WINDOW_MAX,
  OPERATION_WINDOW_SECONDS,
} from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import type { NatsConnection } from '../../../core/nats.ts'
import type { Entitlements, Plans } from '../../../core/plans/plans.ts'
import { cancelChunk, EndedMeanwhile } from './cancel-chunk.ts'
import { workChunk } from './operation-chunk.ts'

export interface OperationDeps {
  db: Db
  nats: NatsConnection
  clock: Clock
  log: Logger
  plans: Plans
}

/** Organisations that take turns in one round. */
const ROUND_MAX = 1_000

/** A run ends after this long, to see whether the lease was lost or the process stops. */
const RUN_MS = 1_000

/** When an operation whose window is full looks again, and one whose chunk failed. */
const FULL_MS = 100
const FAILED_MS = 5_000

const DELETE_BATCH = 1_000

/**
 * Works on the operations that are due: one chunk of one operation of each organisation, round by round, so that a
 * large one holds up nobody. Whether there was one. (decisions: Resources, Bulk)
 */
export async function runOperations(deps: OperationDeps, mayGoOn: () => boolean): Promise<boolean> {
  let hasWorked = false
  const endsAt = performance.now() + RUN_MS
  for (;;) {
    const due = await dueOperations(deps.db, new Date(deps.clock.now()), ROUND_MAX)
    if (due.length === 0) return hasWorked
    for (const id of due) {
      if (!mayGoOn() || performance.now() > endsAt) return true
      await workOn(deps, id)
      hasWorked = true
    }
  }
}

/** Deletes operations that finished long ago. */
export async function deleteFinished({ db, clock }: OperationDeps): Promise<void> {
  const before = new Date(clock.now() - OPERATION_DAYS * DAY_MS)
  await deleteOldOperations(db, before, DELETE_BATCH)
}

/** A chunk that fails changed nothing; it is tried again later, and the others go on. */
async function workOn(deps: OperationDeps, id: string): Promise<void> {
  try {
    const operation = await findRunning(deps.db, id)
    if (operation?.kind === 'cancel') await cancelChunk(deps, operation)
    else if (operation !== undefined) await advance(deps, operation)
  } catch (err) {
    if (err instanceof EndedMeanwhile) return
    deps.log.warn({ err, operationId: id }, 'Cannot work on an operation, trying again')
    const now = deps.clock.now()
    await postponeOperation(deps.db, id, { now: new Date(now), dueAt: new Date(now + FAILED_MS) })
  }
}

/** The cursor and the counters move with what was done: a death in between neither repeats nor skips anything. */
async function advance({ db, clock, plans }: OperationDeps, found: Operation): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const operation = await takeRunning(tx, found)
    if (operation === undefined) return
    const now = new Date(clock.now())
    const { id, organisationId } = operation
    const standing = await findStanding(tx, plans, { organisationId, nowMs: now.getTime() })
    const limit = await roomFor(tx, operation, standing.entitlements)
    if (limit === 0) {
      await postponeOperation(tx, id, { now, dueAt: new Date(now.getTime() + FULL_MS) })
      return
    }
    const progress = await workChunk(tx, operation, { standing, now, limit })
    await advanceOperation(tx, operation, progress, now)
  })
}

/** How many more may wait in lanes. Zero until a good part of the window is free: small chunks cost as much. */
async function roomFor(tx: Db, operation: Operation, plan: Entitlements): Promise<number> {
  const window = windowOf(plan)
  const room = window - (await countOutstanding(tx, operation.id, window))
  return room < window / 4 ? 0 : Math.min(room, OPERATION_CHUNK)
}

function windowOf({ maxDeliveriesPerSecond }: Entitlements): number {
  if (maxDeliveriesPerSecond === null) return OPERATION_WINDOW_MAX
  return Math.min(OPERATION_WINDOW_MAX, maxDeliveriesPerSecond * OPERATION_WINDOW_SECONDS)
}

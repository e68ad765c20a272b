import { closeAlert, lockOpenAlert, raiseAlert } from '../../../core/db/alerts/alerts.ts'
import { holdDestination } from '../../../core/db/alerts/signals/destination-signals.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  markAlerted,
  takeUnalerted,
  type OperationalEvent,
} from '../../../core/db/processes/operational-events.ts'
import { tellOpening, tellRecovery, type TellDeps } from './tell.ts'

/** Events of one pass; the others come next time. */
const EVENTS_MAX = 500

/**
 * Makes alerts of what was noted of destinations, in the order in which it happened, each in a transaction with its
 * telling: whatever ends this half way, it is done once. Returns how many there were.
 */
export async function followEvents(deps: TellDeps): Promise<number> {
  for (let followed = 0; followed < EVENTS_MAX; followed++) {
    const isMore = await deps.db.transaction().execute(async (tx) => await followNext(tx, deps))
    if (!isMore) return followed
  }
  return EVENTS_MAX
}

async function followNext(tx: Db, deps: TellDeps): Promise<boolean> {
  const event = await takeUnalerted(tx)
  if (event === undefined) return false
  if (await holdDestination(tx, event.subjectId)) await follow(tx, deps, event)
  await markAlerted(tx, event.id, deps.clock.now())
  return true
}

async function follow(tx: Db, deps: TellDeps, event: OperationalEvent): Promise<void> {
  const nowMs = deps.clock.now()
  const failing = { type: 'destination.failing', subjectId: event.subjectId } as const
  if (event.kind === 'destination.recovered') {
    const open = await lockOpenAlert(tx, failing)
    const closed = open && (await closeAlert(tx, open.id, nowMs))
    if (closed !== undefined) await tellRecovery(tx, deps, closed)
    return
  }
  const { organisationId, projectId, details, kind } = event
  const { percent, reason } = details
  const name = String(details['name'])
  const isDisabled = kind === 'destination.disabled'
  // It says the same and more: of the two one stays, and one recovery follows.
  const superseded = isDisabled ? await lockOpenAlert(tx, failing) : undefined
  if (superseded !== undefined) await closeAlert(tx, superseded.id, nowMs)
  const finding = {
    type: kind,
    organisationId,
    projectId,
    subjectId: event.subjectId,
    name,
    level: isDisabled ? 100 : Number(percent),
    summary: isDisabled ? disabledSummary(name, reason) : failingSummary(name, details),
    evidence: details,
  }
  await raiseAlert(tx, finding, nowMs)
  const raised = await lockOpenAlert(tx, finding)
  if (raised !== undefined) await tellOpening(tx, deps, raised)
}

function disabledSummary(name: string, reason: unknown): string {
  return reason === 'gone'
    ? `Destination "${name}" is disabled: its endpoint answered that it is gone (410).`
    : `Destination "${name}" is disabled: every attempt failed for 5 days.`
}

function failingSummary(
  name: string,
  { percent, failingSince, disablesAt }: Record<string, unknown>,
): string {
  return `Destination "${name}" has failed every attempt since ${String(failingSince)}: ${String(percent)} % of the way to being disabled at ${String(disablesAt)}.`
}

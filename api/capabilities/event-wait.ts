import { setTimeout as sleep } from 'node:timers/promises'

import type { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { findRoleOfAgent } from '../../core/db/accounts/agents.ts'
import { refuse } from '../../core/errors.ts'
import {
  EVENT_WAITS_PER_ORGANISATION,
  EVENT_WAITS_PER_PROCESS,
  LIST_LIMIT_MAX,
} from '../../core/limits.ts'
import { compileFilter } from '../../core/match/filter.ts'
import type { Deps } from '../deps.ts'
import { EventSummary } from '../events/shape.ts'
import type { AdmittedAgent, CapabilityCall } from './capability.ts'
import { listed } from './inputs.ts'

/** Events that a wait answers with at most. */
const FOUND_MAX = 10

const LOOK_AGAIN_MS = 500
const RETRY_AFTER_SECONDS = 5

type Wait = CapabilityCall<{
  sourceId?: string | undefined
  status?: string | undefined
  eventType?: string | undefined
  since?: string | undefined
  seconds: number
}>

/** How many wait in this process, by organisation. */
const waiting = new Map<string, number>()

/** The first events since a time that match, as soon as there is one; none when the time is up. */
export async function waitForEvents(wait: Wait): Promise<z.output<typeof EventSummary>[]> {
  const { organisationId } = wait.agent
  refuseCrowd(organisationId)
  waiting.set(organisationId, (waiting.get(organisationId) ?? 0) + 1)
  try {
    return await look(wait)
  } finally {
    const left = (waiting.get(organisationId) ?? 1) - 1
    if (left === 0) waiting.delete(organisationId)
    else waiting.set(organisationId, left)
  }
}

function refuseCrowd(organisationId: string): void {
  const all = [...waiting.values()].reduce((sum, one) => sum + one, 0)
  const own = waiting.get(organisationId) ?? 0
  if (own < EVENT_WAITS_PER_ORGANISATION && all < EVENT_WAITS_PER_PROCESS) return
  const limit =
    own < EVENT_WAITS_PER_ORGANISATION ? EVENT_WAITS_PER_PROCESS : EVENT_WAITS_PER_ORGANISATION
  refuse('RATE_LIMITED', `More than ${limit} agents wait for events already`, {
    limit,
    remaining: 0,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}

/**
 * Pages in ascending order stop before an event that may still get a predecessor, so that whoever goes on from the last
 * one that was seen misses none.
 */
async function look({ deps, agent, input, ask, signal }: Wait) {
  const { sourceId, status, eventType, seconds } = input
  const accepts =
    eventType === undefined
      ? undefined
      : compileFilter({ eventTypes: [eventType] }).eventTypes?.accepts
  const end = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)])
  let from = input.since ?? timestamp(deps.clock.now())
  let cursor: string | undefined
  while (!signal.aborted) {
    const query = { sourceId, status, from, cursor, limit: LIST_LIMIT_MAX, sortDir: 'asc' }
    const { data, nextCursor } = await ask('listEvents', { query }, listed(EventSummary))
    const found = data.filter((event) => accepts === undefined || accepts(event.eventType))
    if (found.length > 0) {
      await refuseDismissed(deps, agent)
      return found.slice(0, FOUND_MAX)
    }
    if (end.aborted) break
    if (data.length === LIST_LIMIT_MAX && nextCursor !== null) {
      cursor = nextCursor
      continue
    }
    from = data.at(-1)?.createdAt ?? from
    cursor = undefined
    await sleep(LOOK_AGAIN_MS, undefined, { signal: end }).catch(() => undefined)
  }
  return []
}

/** The agent may have been revoked, or its member removed, while it waited. */
async function refuseDismissed({ db, clock }: Deps, { id }: AdmittedAgent): Promise<void> {
  if ((await findRoleOfAgent(db, id, clock.now())) !== undefined) return
  refuse('UNAUTHORIZED', 'Agent token was revoked or has expired')
}

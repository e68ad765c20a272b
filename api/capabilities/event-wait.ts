import { setTimeout as sleep } from 'node:timers/promises'

import type { z } from 'zod'

import { timestamp } from '../../core/clock.ts'
import { findRoleOfAgent } from '../../core/db/accounts/agents.ts'
import { isShareSpent } from '../../core/db/configuration/organisation-shares.ts'
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

/** The shares of those that wait in this process. */
const waiting = new Set<{ share: string }>()

/** The first events since a time that match, as soon as there is one; none when the time is up. */
export async function waitForEvents(wait: Wait): Promise<z.output<typeof EventSummary>[]> {
  const own = { share: await wait.deps.shares.of(wait.agent.organisationId) }
  refuseCrowd(own.share)
  waiting.add(own)
  try {
    return await look(wait)
  } finally {
    waiting.delete(own)
  }
}

function refuseCrowd(share: string): void {
  const used = [...waiting].map((one) => one.share)
  const bounds = { own: EVENT_WAITS_PER_ORGANISATION, whole: EVENT_WAITS_PER_PROCESS }
  const isSpent = isShareSpent(share, used, bounds)
  if (!isSpent && used.length < EVENT_WAITS_PER_PROCESS) return
  const limit = isSpent ? EVENT_WAITS_PER_ORGANISATION : EVENT_WAITS_PER_PROCESS
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

import { z } from 'zod'

import { findEvent } from '../../core/db/events/events.ts'
import type { Reach } from '../../core/db/lists/page.ts'
import { compileFilter, matchFilter, type Matchable } from '../../core/match/filter.ts'
import { lowerHeaders, matchableOf } from '../../core/match/matchable.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing } from '../failure.ts'
import { IdInput } from '../fields.ts'
import { demand } from '../principal.ts'
import { route } from '../route.ts'
import { Pairs } from '../shapes/attempt.ts'
import { Filter } from '../shapes/connection.ts'

const Texts = z.record(z.string(), z.string())

const Sample = z.strictObject({
  eventType: z.string().nullish(),
  headers: Texts.optional(),
  query: Texts.optional(),
  body: z.unknown().optional(),
})

const TestFilter = z
  .strictObject({
    filter: Filter,
    eventId: IdInput('evt').optional(),
    sample: Sample.optional(),
  })
  .refine(({ eventId, sample }) => (eventId === undefined) !== (sample === undefined), {
    message: 'Expected one of eventId and sample',
    path: ['sample'],
  })
  .meta({
    id: 'TestFilter',
    examples: [{ filter: { body: { amount: { $gte: 100 } } }, sample: { body: { amount: 120 } } }],
  })

const FilterMatch = z
  .object({
    matched: z.boolean(),
    failedPart: z.enum(['eventTypes', 'headers', 'query', 'body']).nullable(),
    path: z.string().nullable().meta({ description: 'The first condition that failed.' }),
  })
  .meta({ id: 'FilterMatch' })

export const FILTER_ROUTES = [
  route({
    method: 'POST',
    path: '/connections/test-filter',
    operationId: 'testFilter',
    tag: 'Connections',
    summary: 'Tell whether a filter lets an event pass',
    description:
      'The event is one that is stored, for which the key needs Read on events too, or a sample.',
    permission: { resource: 'connections', level: 'read' },
    scope: 'reach',
    params: {},
    query: z.strictObject({}),
    body: TestFilter,
    responses: { 200: FilterMatch },
    errors: [],
    async handle({ deps, principal, reach, body }) {
      if (body.eventId !== undefined) demand(principal, { resource: 'events', level: 'read' })
      const event =
        body.eventId === undefined
          ? sampleOf(body.sample ?? {})
          : await eventOf(deps, reach, body.eventId)
      const match = matchFilter(compileFilter(body.filter), event)
      return {
        status: 200,
        body: match.matched
          ? { matched: true, failedPart: null, path: null }
          : { matched: false, failedPart: match.failedPart, path: match.path },
      }
    },
  }),
]

async function eventOf(deps: Deps, reach: Reach, id: string): Promise<Matchable> {
  const event = (await findEvent(deps.db, reach, id)) ?? refuseMissing('evt', id)
  return matchableOf({ ...event, headers: Pairs.parse(JSON.parse(event.headers)) })
}

function sampleOf(sample: z.output<typeof Sample>): Matchable {
  return {
    eventType: sample.eventType ?? null,
    headers: lowerHeaders(Object.entries(sample.headers ?? {})),
    query: Object.entries(sample.query ?? {}),
    payload: () => sample.body ?? null,
  }
}

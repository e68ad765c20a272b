import { z } from 'zod'

import { readBody } from '../../core/db/events/bodies.ts'
import { findEvent } from '../../core/db/events/events.ts'
import type { Reach } from '../../core/db/lists/page.ts'
import { parseHeaders } from '../../core/delivery/delivery-headers.ts'
import { compileFilter, Filter, matchFilter, type Matchable } from '../../core/match/filter.ts'
import { matchableOf, storedRequest } from '../../core/match/matchable.ts'
import { joinHeaders } from '../../core/request/headers.ts'
import { demand } from '../auth/principal.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing } from '../http/failure.ts'
import { IdInput } from '../http/fields.ts'
import { route } from '../http/route.ts'

const Texts = z.record(z.string(), z.string())

const Sample = z
  .strictObject({
    eventType: z.string().nullish().describe('The type of the event; null has none.'),
    headers: Texts.optional().describe('Its headers by their names.'),
    query: Texts.optional().describe('Its query parameters by their names.'),
    body: z.unknown().optional().describe('Its parsed body: any JSON.'),
  })
  .meta({ id: 'FilterSample', description: 'An event that is made up.' })

const TestFilter = z
  .strictObject({
    filter: Filter,
    eventId: IdInput('evt').optional().describe('A stored event to match; or give `sample`.'),
    sample: Sample.optional().describe('An event to match; or give `eventId`.'),
  })
  .refine(({ eventId, sample }) => (eventId === undefined) !== (sample === undefined), {
    message: 'Expected one of eventId and sample',
    path: ['sample'],
  })
  .meta({
    id: 'FilterTest',
    description: 'A filter and the event that it is tried on.',
    examples: [{ filter: { body: { amount: { $gte: 100 } } }, sample: { body: { amount: 120 } } }],
  })

export const FilterMatch = z
  .object({
    matched: z.boolean().describe('The event passes.'),
    failedPart: z
      .enum(['eventTypes', 'headers', 'query', 'body'])
      .nullable()
      .describe('The part of the filter that excluded it; null when it passes.'),
    path: z
      .string()
      .nullable()
      .describe(
        'The first condition that failed, such as `body.amount.$gte`; null when it passes.',
      ),
  })
  .meta({ id: 'FilterMatch', description: 'Whether a filter lets an event pass.' })

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
  const { raw } = (await readBody(deps.db, id)) ?? refuseMissing('evt', id)
  const request = storedRequest({ ...event, headers: parseHeaders(event.headers), raw })
  return matchableOf(request, event.eventType)
}

function sampleOf(sample: z.output<typeof Sample>): Matchable {
  return {
    eventType: sample.eventType ?? null,
    headers: joinHeaders(Object.entries(sample.headers ?? {})),
    query: Object.entries(sample.query ?? {}),
    payload: () => sample.body ?? null,
  }
}

import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { compileFilter, Filter, matchFilter } from './filter.ts'

const PAGE = readFileSync(new URL('../../docs/filters.md', import.meta.url), 'utf8')

/** A block of a filter, and behind it a table of events with whether each matches. */
const EXAMPLES = [...PAGE.matchAll(/```json filter\n(.*?)```\n\n((?:\|[^\n]*\n)+)/gs)].flatMap(
  ([, filter = '', table = '']) =>
    [...table.matchAll(/^\| `(.*?)` +\| (yes|no) +\|$/gm)].map(([, event = '', answer]) => ({
      filter: filter.trim(),
      event,
      answer,
    })),
)

test('docs/filters.md has examples', () => {
  expect(EXAMPLES.length).toBeGreaterThan(25)
  expect(PAGE.match(/```json filter/g)?.length).toBe(
    new Set(EXAMPLES.map((one) => one.filter)).size,
  )
})

test.each(EXAMPLES)('$filter is documented right for $event', ({ filter, event, answer }) => {
  const { eventType = null, headers = {}, query = {}, body = null } = JSON.parse(event)
  const match = matchFilter(compileFilter(Filter.parse(JSON.parse(filter))), {
    eventType,
    headers,
    query: Object.entries<string>(query),
    payload: () => body,
  })
  expect(match.matched ? 'yes' : 'no').toBe(answer)
})

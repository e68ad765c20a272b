import { readdirSync, readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { compileFilter, Filter, matchFilter } from './filter.ts'

const DOCS = new URL('../../docs/', import.meta.url)
const PAGES = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && !name.startsWith('site/'))
  .map((name) => readFileSync(new URL(name, DOCS), 'utf8'))

/** A block of a filter, and behind it a table of events with whether each matches. */
const EXAMPLES = PAGES.flatMap((page) =>
  [...page.matchAll(/```json filter\n(.*?)```\n\n((?:\|[^\n]*\n)+)/gs)].flatMap(
    ([, filter = '', table = '']) =>
      [...table.matchAll(/^\| `(.*?)` +\| (yes|no) +\|$/gm)].map(([, event = '', answer]) => ({
        filter: filter.trim(),
        event,
        answer,
      })),
  ),
)

test('every filter of the documentation has events that it is tried with', () => {
  const filters = PAGES.flatMap((page) =>
    [...page.matchAll(/```json filter\n(.*?)```/gs)].map(([, filter = '']) => filter.trim()),
  )
  expect(filters.length).toBeGreaterThanOrEqual(30)
  const tried = new Set(EXAMPLES.map((one) => one.filter))
  expect(filters.filter((filter) => !tried.has(filter))).toEqual([])
})

test('every operator is in a filter that is tried', () => {
  const page = readFileSync(new URL('filters.md', DOCS), 'utf8')
  const [, table = ''] = /\n## Operators\n(.*?)\n\n[A-Z]/s.exec(page) ?? []
  const operators = [...new Set(table.match(/\$\w+/g))]
  expect(operators).toHaveLength(14)
  const tried = EXAMPLES.map(({ filter }) => filter).join('\n')
  expect(operators.filter((operator) => !tried.includes(`"${operator}"`))).toEqual([])
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

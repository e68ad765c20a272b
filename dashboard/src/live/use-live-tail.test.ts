import { expect, test } from 'vitest'

import { merged } from './use-live-tail.ts'

type Tail = Parameters<typeof merged>[0]

const OFF: Tail = { state: 'live', rows: [], held: [], gap: undefined, beginnings: 1 }
const MANY = 5000

function events(count: number): Tail['rows'] {
  return Array.from({ length: count }, (_, index) => ({
    id: `evt_${index}`,
    sourceId: 'src_a',
    projectId: 'prj_a',
    status: 'received' as const,
    eventType: null,
    verifiedWith: 'none',
    method: 'POST',
    path: '/',
    contentType: null,
    sizeBytes: 0,
    isBinary: false,
    remoteIp: '127.0.0.1',
    createdAt: '2026-01-01T00:00:00.000Z',
  }))
}

test('a tail that is full begins anew, so that the list is read again', () => {
  expect(merged(OFF, events(MANY - 1), false)).toMatchObject({ beginnings: 1 })
  expect(merged(OFF, events(MANY), false)).toMatchObject({ rows: [], beginnings: 2 })
})

test('a tail that holds too many rows keeps still, and begins anew when they are shown', () => {
  const held = merged(OFF, events(MANY + 1), true)
  expect(held).toMatchObject({ rows: [], beginnings: 1 })
  expect(held.held).toHaveLength(MANY)
  expect(merged(held, [], false)).toMatchObject({ rows: [], held: [], beginnings: 2 })
})

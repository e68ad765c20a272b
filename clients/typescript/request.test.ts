import { expect, test } from 'vitest'

import { requestOf } from './request.ts'

test('names in the path, the query and the body come out of one object', () => {
  expect(requestOf('DELETE /sources/{id}', { id: 'src_1', cascade: true })).toMatchObject({
    method: 'DELETE',
    path: '/sources/src_1?cascade=true',
    headers: {},
    body: null,
  })
  const body = { data: { name: 'shop' } }
  expect(requestOf('PATCH /sources/{id}', { id: 'src_1', body })).toMatchObject({
    path: '/sources/src_1',
    headers: { 'content-type': 'application/json' },
    body: '{"data":{"name":"shop"}}',
  })
})

test('an action without a body sends an object without members', () => {
  expect(requestOf('POST /events/{id}/replay', { id: 'evt_1' }).body).toBe('{}')
})

test('a member of the query that is undefined is left out, and texts are escaped', () => {
  const { path } = requestOf('GET /events', { status: undefined, search: 'a&b=c d', limit: 5 })
  expect(path).toBe('/events?search=a%26b%3Dc+d&limit=5')
  expect(requestOf('PUT /sources/by-name/{name}', { name: 'a/b ü' }).path).toBe(
    '/sources/by-name/a%2Fb%20%C3%BC',
  )
})

test.each([undefined, '', '.', '..', 7])('%j is refused where a path needs a text', (id) => {
  expect(() => requestOf('GET /events/{id}', { id })).toThrow(/^id must be a text/)
})

test('an object in the query is refused', () => {
  expect(() => requestOf('GET /events', { status: {} })).toThrow(/^status must be/)
})

test('project and idempotency key are headers, and such a POST may be repeated', () => {
  const keyed = requestOf('POST /sources', { projectId: 'prj_1', idempotencyKey: 'k', body: {} })
  expect(keyed.headers).toMatchObject({ 'x-project-id': 'prj_1', 'idempotency-key': 'k' })
  expect(keyed.path).toBe('/sources')
  expect(keyed.isRepeatable).toBe(true)
  expect(requestOf('POST /sources', { body: {} }).isRepeatable).toBe(false)
  expect(requestOf('DELETE /sources/{id}', { id: 'src_1' }).isRepeatable).toBe(false)
  expect(requestOf('GET /sources', {}).isRepeatable).toBe(true)
})

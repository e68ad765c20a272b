import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

import { expect, test } from 'vitest'

import { startWorld } from '../kit/world.ts'

test('every failure leaves in the one envelope with a request id', async () => {
  await using world = await startWorld()
  const cases: [string, string, unknown, Record<string, string>, number, string][] = [
    ['GET', '/v1/nope', undefined, {}, 404, 'NOT_FOUND'],
    ['GET', '/nope', undefined, {}, 404, 'NOT_FOUND'],
    ['PUT', '/v1/sources', {}, {}, 404, 'NOT_FOUND'],
    ['POST', '/v1/nope', '{', {}, 404, 'NOT_FOUND'],
    ['POST', '/v1/projects', '{', {}, 400, 'BAD_REQUEST'],
    ['POST', '/v1/projects', '{}', { 'content-type': 'text/plain' }, 400, 'BAD_REQUEST'],
    ['POST', '/v1/projects', 'x'.repeat(1024 * 1024 + 1), {}, 400, 'BAD_REQUEST'],
    ['POST', '/v1/projects', '[1]', {}, 400, 'BAD_REQUEST'],
    ['GET', '/v1/projects/%E0%A4%A', undefined, {}, 400, 'BAD_REQUEST'],
    ['GET', `/v1/projects/${'x'.repeat(500)}`, undefined, {}, 404, 'NOT_FOUND'],
  ]
  for (const [method, path, body, headers, status, code] of cases) {
    const answer = await world.api(method, path, body, { headers })
    expect(answer.body, `${method} ${path}`).toMatchObject({ status, code })
    expect(answer.status).toBe(status)
    expect(Object.keys(answer.body).toSorted()).toEqual(
      (code === 'BAD_REQUEST'
        ? ['code', 'data', 'message', 'status']
        : ['code', 'message', 'status']
      ).toSorted(),
    )
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  }
})

test('a request that is not HTTP is answered in the envelope too', async () => {
  await using world = await startWorld()
  const { hostname, port } = new URL(world.apiUrl)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write('NONSENSE\r\n\r\n')
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 400 .*x-request-id: /s)
  expect(JSON.parse(body)).toMatchObject({
    code: 'BAD_REQUEST',
    status: 400,
    data: { fields: [{ path: 'request' }] },
  })
})

import { expect, test } from 'vitest'
import { z } from 'zod'

import { errorsOf } from '../../api/route.ts'
import { ROUTES } from '../../api/routes.ts'
import { STATUS } from '../../core/errors.ts'
import { startWorld } from '../world.ts'
import { documentOf, member } from './documented.ts'

test('the OpenAPI document holds every route, every code of it, and no dangling reference', async () => {
  await using world = await startWorld()
  const document = await documentOf(world)
  expect(document['openapi']).toBe('3.1.0')
  const text = JSON.stringify(document)
  const schemas = member(member(document, 'components'), 'schemas')
  const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
    ([, name]) => name ?? '',
  )
  expect(references.length).toBeGreaterThan(50)
  expect(references.filter((name) => !(name in schemas))).toEqual([])
  expect(text).not.toContain('$defs')
  const paths = member(document, 'paths')
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(z.record(z.string(), z.unknown()).parse(operations)).map(
      (method) => `${method} ${path}`,
    ),
  )
  const mounted = ROUTES.map(
    ({ method, path }) => `${method.toLowerCase()} /v1${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  )
  expect(described.toSorted()).toEqual([...mounted, 'get /v1/openapi.json'].toSorted())
  for (const route of ROUTES) {
    const path = `/v1${route.path.replaceAll(/:(\w+)/g, '{$1}')}`
    const responses = member(member(member(paths, path), route.method.toLowerCase()), 'responses')
    for (const code of errorsOf(route)) {
      expect(JSON.stringify(responses[STATUS[code]]), `${path} ${code}`).toContain(code)
    }
    for (const status of Object.keys(route.responses)) expect(responses).toHaveProperty(status)
  }
})

test('operation ids are unique and every path parameter is described', async () => {
  const ids = ROUTES.map((route) => route.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { path, params } of ROUTES) {
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
    expect(Object.keys(params), path).toEqual(names)
  }
})

test('the document is there without a key, and under /v1 with one', async () => {
  await using world = await startWorld()
  const open = await world.api('GET', '/openapi.json', undefined, { key: null })
  expect(open.status).toBe(200)
  expect((await world.api('GET', '/v1/openapi.json', undefined, { key: null })).status).toBe(401)
  const { key } = await world.createKey({ billing: 'read' })
  const keyed = await world.api('GET', '/v1/openapi.json', undefined, { key })
  expect(keyed.body).toEqual(open.body)
})

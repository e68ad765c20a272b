import { expect, test } from 'vitest'

import { ROUTES } from '../routes.ts'
import { checkRoutes } from './check-routes.ts'
import type { Route } from './route.ts'

const [first, second] = ROUTES
if (first === undefined || second === undefined) throw new Error('No routes')

test('checkRoutes() passes the routes there are', () => {
  expect(() => checkRoutes(ROUTES)).not.toThrow()
})

// Past the compiler, as a route in plain JavaScript or behind a cast would be.
const permissions: unknown[] = [
  undefined,
  null,
  {},
  '',
  'anyone',
  { resource: 'cars', level: 'read' },
  { resource: 'sources', level: 'none' },
]

test.for(permissions)('checkRoutes() refuses the permission %j', (permission) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the compiler would refuse
  const route = { ...first, permission } as Route
  expect(() => checkRoutes([route])).toThrow(/GET \/v1\/projects: permission is missing/)
})

test('checkRoutes() names every fault at once', () => {
  const twice = { ...second, operationId: first.operationId }
  const lost = { ...first, path: '/lost/:id' }
  const attempt = () => checkRoutes([first, twice, twice, lost])
  expect(attempt).toThrow(/"listProjects" is used twice/)
  expect(attempt).toThrow(/POST \/v1\/projects: is there twice/)
  expect(attempt).toThrow(/\/lost\/:id: params are not those of the path/)
})

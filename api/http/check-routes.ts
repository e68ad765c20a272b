import { z } from 'zod'

import { RESOURCES } from '../../core/keys/permissions.ts'
import type { Route } from './route.ts'

const Permission = z.union([
  z.enum(['any_key', 'public']),
  z.strictObject({
    resource: z.enum(RESOURCES),
    level: z.enum(['read', 'write']),
    isExplicit: z.literal(true).optional(),
  }),
])

/**
 * Throws one error that names every fault of the table: an API of which one route tells no permission does not start,
 * whatever the compiler was told.
 */
export function checkRoutes(routes: readonly Route[]): void {
  const faults = routes.flatMap((route) => {
    const place = `${route.method} /v1${route.path}`
    return faultsOf(route, routes).map((fault) => `${place}: ${fault}`)
  })
  if (faults.length > 0) throw new Error(`Cannot mount the routes: ${faults.join('; ')}`)
}

function faultsOf(route: Route, routes: readonly Route[]): string[] {
  const { method, path, operationId, permission, params } = route
  const named = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  const isAlone = (like: (other: Route) => boolean): boolean => routes.filter(like).length === 1
  const checks: [boolean, string][] = [
    [Permission.safeParse(permission).success, 'permission is missing or names no resource'],
    [isAlone((other) => other.operationId === operationId), `"${operationId}" is used twice`],
    [isAlone((other) => other.method === method && other.path === path), 'is there twice'],
    [Object.keys(params).join() === named.join(), `params are not those of the path`],
  ]
  return checks.flatMap(([isSound, fault]) => (isSound ? [] : [fault]))
}

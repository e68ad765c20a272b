import { permissionsOf, type Role } from '../../../core/accounts/role.ts'
import { refuse } from '../../../core/errors.ts'
import { covers, type Need, type Permissions } from '../../../core/keys/permissions.ts'
import { isPublic } from '../../http/route.ts'
import { ROUTES } from '../../routes.ts'

/** Everything that a route, or a kind of action within one, can need. */
const NEEDS: readonly Need[] = ROUTES.flatMap((route) => {
  if (isPublic(route)) return []
  const { permission, needsByKind = {} } = route
  return [...(permission === 'any_key' ? [] : [permission]), ...Object.values(needsByKind)]
})

/** Refuses a key that could do what the person who makes it cannot. (spec: Authentication 4) */
export function refuseAbove(role: Role, wish: Permissions | null): void {
  const own = permissionsOf(role)
  const above = NEEDS.filter((need) => covers(wish, need) && !covers(own, need))
  if (above.length === 0) return
  const resources = [...new Set(above.map(({ resource }) => resource))]
  refuse(
    'FORBIDDEN',
    `Cannot grant write on ${resources.join(', ')} as a ${role}: it needs an owner or an admin`,
  )
}

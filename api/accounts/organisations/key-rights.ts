import { grantableBy, type Role } from '../../../core/accounts/role.ts'
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

/** Refuses a key that may do more than a person of the role may grant. (spec: Authentication 4) */
export function refuseAbove(role: Role, wish: Permissions | null): void {
  const resources = resourcesAbove(role, wish)
  if (resources.length === 0) return
  refuse(
    'FORBIDDEN',
    `Cannot grant write on ${resources.join(', ')} as a ${role}: it needs an owner or an admin`,
  )
}

/** The resources on which permissions go further than a person of the role may grant. */
export function resourcesAbove(role: Role, permissions: Permissions | null): string[] {
  const grantable = grantableBy(role)
  const above = NEEDS.filter((need) => covers(permissions, need) && !covers(grantable, need))
  return [...new Set(above.map(({ resource }) => resource))]
}

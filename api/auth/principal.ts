import type { Role } from '../../core/accounts/role.ts'
import type { Reach } from '../../core/db/lists/page.ts'
import type { Actor } from '../../core/db/requests/audit.ts'
import { refuse } from '../../core/errors.ts'
import { covers, type Need, type Permissions } from '../../core/keys/permissions.ts'

/** Who acts. Routes are written against this, not against keys. */
export interface Principal {
  organisationId: string
  /** As it stands in the audit. */
  actor: Actor
  /** The person that acts, at the dashboard or by an agent, which has no session; absent for a key. */
  person?: { role: Role; sessionId: string | null }
  /** Null: unscoped, a member of the organisation. */
  permissions: Permissions | null
  /** Bound to one project, and so unable to make others. */
  isBound: boolean
}

/** The permission that a route demands. The type makes every route state it. */
export type Permission = Need | 'any_key'

/** Who asks and how far it reaches: what every kind of authentication leaves for the handler. */
export interface Access {
  principal: Principal
  /** For reading by id: one project, or all of the organisation when none was named. */
  reach: Reach
  /** For lists and creates: the project named, bound or default. Refuses with FORBIDDEN when there is none. */
  project: () => string
}

/** Refuses a principal that does not hold what a route, or a choice within its request, needs. */
export function demand(principal: Principal, permission: Permission): void {
  if (permission === 'any_key' || covers(principal.permissions, permission)) return
  const { resource, level, isExplicit } = permission
  const wanted = level === 'write' ? 'Read and write' : 'Read'
  if (principal.person !== undefined) {
    refuse(
      'FORBIDDEN',
      `Cannot do this as a ${principal.person.role}: it needs an owner or an admin`,
    )
  }
  refuse(
    'INSUFFICIENT_API_KEY_PERMISSIONS',
    isExplicit === true
      ? `Cannot do this with this API key: it needs an explicit grant of ${wanted} on ${resource}`
      : `Cannot do this with this API key: it needs ${wanted} on ${resource}`,
  )
}

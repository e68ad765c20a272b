import { RESOURCES, type Permissions } from '../keys/permissions.ts'

/** From the one that may most to the one that may least. (decisions: Accounts, dashboard, agents) */
export const ROLES = ['owner', 'admin', 'member'] as const

export type Role = (typeof ROLES)[number]

const EVERYTHING: Permissions = Object.fromEntries(RESOURCES.map((one) => [one, 'write']))

/** As a row holds it. Throws on what is no role. */
export function roleOf(text: string): Role {
  const role = ROLES.find((one) => one === text)
  if (role === undefined) throw new Error(`There is no role "${text}"`)
  return role
}

/** Whether `role` may all that `other` may. */
export function isAtLeast(role: Role, other: Role): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(other)
}

/** The role of the two that may less. */
export function lowerOf(one: Role, other: Role): Role {
  return isAtLeast(one, other) ? other : one
}

/** The most that a person of a role may grant a key. (decisions: Privacy and roles; spec: Authentication 4) */
export function grantableBy(role: Role): Permissions {
  return role === 'member' ? { ...EVERYTHING, billing: 'read' } : EVERYTHING
}

/** Owners and admins may all; a member may what an unscoped key may. */
export function permissionsOf(role: Role): Permissions | null {
  return role === 'member' ? null : EVERYTHING
}

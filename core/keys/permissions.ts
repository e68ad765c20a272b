import { z } from 'zod'

/** Resources on which a key can have a level. (spec: API key, "Permissions") */
export const RESOURCES = [
  'projects',
  'sources',
  'destinations',
  'connections',
  'connectors',
  'deliveries',
  'events',
  'billing',
] as const

const LEVELS = ['none', 'read', 'write'] as const

type Resource = (typeof RESOURCES)[number]

/** A level for each resource; an absent resource has `none`. */
export const Permissions = z.partialRecord(z.enum(RESOURCES), z.enum(LEVELS))

export type Permissions = z.infer<typeof Permissions>

/** As a key's row holds them; null is an unscoped key. */
export function permissionsOf(stored: unknown): Permissions | null {
  return stored === null ? null : Permissions.parse(stored)
}

/** The permission that an action needs. `isExplicit`: the fallback of an unscoped key does not cover it. (spec: Authentication 5) */
export interface Need {
  resource: Resource
  level: 'read' | 'write'
  isExplicit?: true
}

/** Whether `permissions` cover `need`; null is an unscoped key, which acts as a member of the organisation. */
export function covers(permissions: Permissions | null, need: Need): boolean {
  if (permissions === null) return need.isExplicit !== true
  const level = permissions[need.resource] ?? 'none'
  return level === 'write' || level === need.level
}

/** Whether at least one resource is granted: a key that may do nothing is refused when it is made. */
export function grantsAnything(permissions: Permissions): boolean {
  return Object.values(permissions).some((level) => level !== 'none')
}

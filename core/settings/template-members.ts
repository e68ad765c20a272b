/**
 * Members of `Connector.spec.template` by which a pod can be more than an agent: other code, another account or more rights,
 * the place of another workload. An installation allows each by its name.
 */
export const GUARDED_MEMBERS = [
  'annotations',
  'env',
  'image',
  'labels',
  'priorityClassName',
  'securityContext',
  'serviceAccountName',
] as const

export type GuardedMember = (typeof GUARDED_MEMBERS)[number]

/** Reasons of conditions are a contract with whoever waits for them. (docs/kubernetes/conditions.md) */
export const STATES = [
  'AgentFailed',
  'Applied',
  'Connected',
  'Contested',
  'Disabled',
  'ImagePullFailed',
  'KeyStored',
  'NoSession',
  'NotConnected',
  'Pending',
  'PodsNotReady',
  'PodsReady',
  'PodsRefused',
  'PodsStarting',
  'ProgressDeadlineExceeded',
  'Provisioned',
  'Provisioning',
  'Reachable',
  'RollingOut',
  'ScaledToZero',
  'SessionsLive',
  'Suspended',
  'Unschedulable',
  'WaitingForSessions',
] as const

/** Faults that pass once something else comes: a thing that is named, an answer, time. */
export const PASSING_FAULTS = [
  'ApiKeyInvalid',
  'ApiKeySecretNotFound',
  'CaSecretNotFound',
  'DeletionBlocked',
  'DeletionWaiting',
  'NotPostern',
  'RateLimited',
  'RelayNotFound',
  'RelayUnavailable',
  'SecretNotFound',
  'WaitingForConnector',
  'WaitingForDestination',
  'WaitingForSource',
] as const

/** Faults for which waiting does not help: somebody has to do something. */
export const STALLED_FAULTS = [
  'AllowInvalid',
  'ChildConflict',
  'ChildRefused',
  'ConnectorLimitReached',
  'CredentialsInvalid',
  'InsufficientPermissions',
  'NameConflict',
  'Refused',
  'RelayNotAllowed',
  'RemoteMissing',
  'TemplateNotAllowed',
] as const

export type Fault = (typeof PASSING_FAULTS)[number] | (typeof STALLED_FAULTS)[number]
export type Reason = (typeof STATES)[number] | Fault

const STALLED: ReadonlySet<string> = new Set(STALLED_FAULTS)

export function isStalled(fault: Reason): boolean {
  return STALLED.has(fault)
}

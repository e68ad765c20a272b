import type { Code } from '../../core/errors.ts'

/** When an operation of the management API answers with a code. (spec: Codes) */
export const MEANING: Readonly<Record<Code, string>> = {
  BAD_REQUEST: 'A value is wrong; `data.fields` names each path and its fault',
  DESTINATION_NOT_PUBLIC: 'The URL resolves to a private or reserved address',
  UNAUTHORIZED: 'The key or token is missing, invalid, expired or revoked',
  FORBIDDEN:
    'No organisation or project could be resolved, or the operator keeps this to themselves',
  INSUFFICIENT_API_KEY_PERMISSIONS:
    'The permissions of the API key do not cover this; a retry does not help',
  CONNECTOR_LIMIT_REACHED: 'The connectors of the plan are used up',
  REPLICA_LIMIT_REACHED: 'The replicas of the plan are used up for this connector',
  CONNECTOR_REPLICA_REVOKED: 'The replica was revoked and has to enrol again',
  NEGOTIATED_PLAN_OVERRIDE: 'The organisation is on a negotiated plan',
  INVITATION_LIMIT_REACHED: 'The seats of the plan are used up',
  PASSWORD_REQUIRED: 'The person has to give their password again first',
  NOT_FOUND: 'There is none, or it belongs to another organisation or project',
  CONFLICT:
    'The present state forbids it; or the Idempotency-Key is in use or was sent with another request',
  CONNECTOR_PROVISIONING: 'The connector is still being provisioned',
  ROTATION_IN_USE: 'The new secret has already verified requests; `force` overrides',
  ROTATION_OVERLAP_ACTIVE: 'The previous secret is still accepted, until `data.expiresAt`',
  PAYLOAD_TOO_LARGE: 'The body exceeds the limit of the source',
  UNSUPPORTED_BODY: 'The body contains NUL bytes',
  QUOTA_EXCEEDED: 'The delivery quota of the window is used up, until `data.resetAt`',
  RATE_LIMITED: 'Too fast; repeat after `data.retryAfterSeconds`',
  ROTATION_USAGE_UNAVAILABLE: 'The uses of the new secret cannot be counted now; `force` overrides',
}

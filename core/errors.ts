/** Every refusal a client can see, with the HTTP status it carries. The only list of codes. (spec: Codes) */
export const STATUS = {
  BAD_REQUEST: 400,
  DESTINATION_NOT_PUBLIC: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  INSUFFICIENT_API_KEY_PERMISSIONS: 403,
  CONNECTOR_LIMIT_REACHED: 403,
  REPLICA_LIMIT_REACHED: 403,
  CONNECTOR_REPLICA_REVOKED: 403,
  NEGOTIATED_PLAN_OVERRIDE: 403,
  INVITATION_LIMIT_REACHED: 403,
  PASSWORD_REQUIRED: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  CONNECTOR_PROVISIONING: 409,
  ROTATION_IN_USE: 409,
  ROTATION_OVERLAP_ACTIVE: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_BODY: 415,
  QUOTA_EXCEEDED: 429,
  RATE_LIMITED: 429,
  ROTATION_USAGE_UNAVAILABLE: 503,
} as const

export type Code = keyof typeof STATUS

/** A fault of a request; `path` starts with where it was: `body.`, `query.`, `params.` or `headers.`. */
export interface FieldFault {
  path: string
  message: string
}

/** The `data` member of each code that has one. A code absent here carries none. */
export interface Data {
  BAD_REQUEST: { fields: FieldFault[] }
  CONNECTOR_LIMIT_REACHED: { limit: number; current: number }
  REPLICA_LIMIT_REACHED: { limit: number; current: number }
  CONNECTOR_REPLICA_REVOKED: {
    reason: 'connector_deleted' | 'replica_revoked' | 'identity_absent'
  }
  ROTATION_IN_USE: { count: number; lastSeenAt: string }
  ROTATION_OVERLAP_ACTIVE: { expiresAt: string }
  QUOTA_EXCEEDED: { limit: number; current: number; resetAt: string }
  RATE_LIMITED: { limit: number; remaining: number; retryAfterSeconds: number }
}

type DataOf<C extends Code> = C extends keyof Data ? [data: Data[C]] : []

/** An expected refusal: a code, a message for the client and the data its code demands. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: Code
  readonly data: Data[keyof Data] | undefined

  constructor(code: Code, message: string, data?: Data[keyof Data]) {
    super(message)
    this.code = code
    this.data = data
  }
}

export function refuse<C extends Code>(code: C, message: string, ...[data]: DataOf<C>): never {
  throw new Refusal(code, message, data)
}

/** The common case of BAD_REQUEST: one field at fault. */
export function refuseField(path: string, message: string): never {
  refuse('BAD_REQUEST', `${path}: ${message}`, { fields: [{ path, message }] })
}

import { RelayAway, RelayError, RelayPaused } from './relay-error.ts'

const MINUTE_MS = 60_000
const AWAY_MS = 15_000

/** Why an object cannot be as it is declared. (docs/kubernetes/conditions.md) */
export interface Problem {
  reason: string
  message: string
  /** Waiting does not help: somebody has to do something. */
  isStalled: boolean
  againMs: number
}

/** A fault of the reconciliation that is told in the status. */
export class Halt extends Error {
  override readonly name = 'Halt'
  readonly problem: Problem

  constructor(reason: string, message: string, { isStalled = true, againMs = 5 * MINUTE_MS } = {}) {
    super(message)
    this.problem = { reason, message, isStalled, againMs }
  }
}

const BY_CODE: Readonly<Record<string, { reason: string; againMs: number }>> = {
  INSUFFICIENT_API_KEY_PERMISSIONS: { reason: 'InsufficientPermissions', againMs: 10 * MINUTE_MS },
  FORBIDDEN: { reason: 'InsufficientPermissions', againMs: 10 * MINUTE_MS },
  CONNECTOR_LIMIT_REACHED: { reason: 'ConnectorLimitReached', againMs: 5 * MINUTE_MS },
  CONFLICT: { reason: 'NameConflict', againMs: 5 * MINUTE_MS },
  BAD_REQUEST: { reason: 'Refused', againMs: 10 * MINUTE_MS },
  NOT_FOUND: { reason: 'RemoteMissing', againMs: MINUTE_MS },
}

/** The meaning of an answer of the relay for an object; undefined for a fault that is not the relay's. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Halt) return error.problem
  const { message } = error instanceof Error ? error : { message: '' }
  if (error instanceof RelayAway) {
    return { reason: 'RelayUnavailable', message, isStalled: false, againMs: AWAY_MS }
  }
  if (error instanceof RelayPaused) {
    const againMs = Math.max(1_000, error.untilMs - performance.now() + 500)
    return error.isRefused
      ? { reason: 'CredentialsInvalid', message, isStalled: true, againMs }
      : { reason: 'RateLimited', message, isStalled: false, againMs }
  }
  if (!(error instanceof RelayError)) return undefined
  if (error.status === 401) {
    return { reason: 'CredentialsInvalid', message, isStalled: true, againMs: 5 * MINUTE_MS }
  }
  if (error.status === 429) {
    return { reason: 'RateLimited', message, isStalled: false, againMs: AWAY_MS }
  }
  const known = BY_CODE[error.code]
  return { message, isStalled: true, ...(known ?? { reason: 'Refused', againMs: 10 * MINUTE_MS }) }
}

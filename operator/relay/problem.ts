import { PosternError } from '../../clients/typescript/index.ts'
import { MINUTE_MS } from '../../core/clock.ts'
import { isStalled, type Fault } from '../kinds/reasons.ts'
import { NotPostern, RelayAway, RelayNotAllowed, RelayPaused } from './relay-error.ts'

const AWAY_MS = 15_000

/** Why an object cannot be as it is declared. (docs/kubernetes/conditions.md) */
export interface Problem {
  reason: Fault
  message: string
  /** Waiting does not help: somebody has to do something. */
  isStalled: boolean
  againMs: number
}

/** A fault of the reconciliation that is told in the status. */
export class Halt extends Error {
  override readonly name = 'Halt'
  readonly problem: Problem

  constructor(reason: Fault, message: string, { againMs = 5 * MINUTE_MS } = {}) {
    super(message)
    this.problem = problem(reason, message, againMs)
  }
}

function problem(reason: Fault, message: string, againMs: number): Problem {
  return { reason, message, isStalled: isStalled(reason), againMs }
}

const BY_CODE: Readonly<Record<string, { reason: Fault; againMs: number }>> = {
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
    return problem('RelayUnavailable', message, AWAY_MS)
  }
  if (error instanceof NotPostern) return problem('NotPostern', message, MINUTE_MS)
  if (error instanceof RelayNotAllowed) return problem('RelayNotAllowed', message, 5 * MINUTE_MS)
  if (error instanceof RelayPaused) {
    const againMs = Math.max(1_000, error.untilMs - performance.now() + 500)
    return problem(error.isRefused ? 'CredentialsInvalid' : 'RateLimited', message, againMs)
  }
  // A success that cannot be read is no word of the relay.
  if (!(error instanceof PosternError) || error.status < 300) return undefined
  if (error.status === 401) return problem('CredentialsInvalid', message, 5 * MINUTE_MS)
  if (error.status === 429) return problem('RateLimited', message, AWAY_MS)
  const { reason, againMs } = BY_CODE[error.code ?? ''] ?? {
    reason: 'Refused',
    againMs: 10 * MINUTE_MS,
  }
  return problem(reason, message, againMs)
}

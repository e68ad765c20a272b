import { clientWaitMs } from '../../../core/delivery/retry-after.ts'

const MESSAGE_LENGTH_MAX = 500

/** An answer of the API server that is no success. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The machine's word for it, such as `NotFound` or `Expired`. */
  readonly reason: string
  readonly retryAfterMs: number | undefined

  constructor(what: string, status: number, text: string, retryAfter?: string | string[]) {
    const said = statusOf(text)
    const message = said?.message ?? text
    super(`${what}: ${status} ${message.slice(0, MESSAGE_LENGTH_MAX)}`)
    this.status = status
    this.reason = said?.reason ?? ''
    this.retryAfterMs = clientWaitMs(retryAfter)
  }
}

export function isStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof ApiError && statuses.includes(error.status)
}

function statusOf(text: string): { message?: string; reason?: string } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How much of its window a caller has used. */
export interface RateWindow {
  limit: number
  left: number
  resetSeconds: number
}

/** A window is used up: the one refusal without a code. (spec: Limits, "API requests") */
export class TooManyRequests extends Error {
  override readonly name = 'TooManyRequests'
  readonly retryAfterSeconds: number

  constructor(message: string, retryAfterSeconds: number) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** On every answer to a key. (decisions: Conventions of the API) */
export function rateHeaders({ limit, left, resetSeconds }: RateWindow): Record<string, number> {
  return {
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': left,
    'x-ratelimit-reset': resetSeconds,
  }
}

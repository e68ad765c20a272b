import { AuthorizationResponseError } from 'openid-client'

import { Refusal } from '../../../core/errors.ts'

/** Why nobody was signed in by the provider. The sign-in page has words for each. */
type Problem =
  | 'cancelled'
  | 'expired'
  | 'unverified'
  | 'unknown'
  | 'seats'
  | 'busy'
  | 'away'
  | 'failed'

/** The provider knows somebody who cannot come in. */
export class Unwelcome extends Error {
  override readonly name = 'Unwelcome'
  readonly problem: Problem

  constructor(problem: Problem, message: string) {
    super(message)
    this.problem = problem
  }
}

const NO_ANSWER = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'])

export function problemOf(error: unknown): Problem {
  if (error instanceof Unwelcome) return error.problem
  if (error instanceof Refusal) return error.code === 'RATE_LIMITED' ? 'busy' : 'failed'
  if (error instanceof AuthorizationResponseError) {
    return error.error === 'access_denied' ? 'cancelled' : 'failed'
  }
  const { code } = Object(error)
  // `fetch` throws a TypeError when nobody answers.
  return error instanceof TypeError || NO_ANSWER.has(code) ? 'away' : 'failed'
}

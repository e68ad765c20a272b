import { PosternError } from '../../clients/typescript/index.ts'

/** No answer, or that of a server in trouble: the same call may succeed later. */
export class RelayAway extends Error {
  override readonly name = 'RelayAway'
}

/** The key may make no calls for a while: the relay said so, or has refused it. */
export class RelayPaused extends Error {
  override readonly name = 'RelayPaused'
  readonly untilMs: number
  readonly isRefused: boolean

  constructor(message: string, untilMs: number, isRefused: boolean) {
    super(message)
    this.untilMs = untilMs
    this.isRefused = isRefused
  }
}

export function hasCode(error: unknown, ...codes: string[]): error is PosternError {
  return error instanceof PosternError && codes.includes(error.code ?? '')
}

/** The address answers, and is no management API of a Postern. */
export class NotPostern extends Error {
  override readonly name = 'NotPostern'
}

/** The address is none that a Relay may name. */
export class RelayNotAllowed extends Error {
  override readonly name = 'RelayNotAllowed'
}

/** An answer has more bytes than one may have. */
export class AnswerTooLong extends RelayAway {}

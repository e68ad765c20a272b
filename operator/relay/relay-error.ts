/** An answer of the relay that is no success. */
export class RelayError extends Error {
  override readonly name = 'RelayError'
  readonly status: number
  /** The code of docs/errors.md, empty where there is none. */
  readonly code: string
  readonly data: Record<string, unknown>

  constructor(status: number, text: string) {
    const said = read(text)
    super(said.message ?? `The relay answered ${status}`)
    this.status = status
    this.code = said.code ?? ''
    this.data = said.data ?? {}
  }
}

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

export function hasCode(error: unknown, ...codes: string[]): error is RelayError {
  return error instanceof RelayError && codes.includes(error.code)
}

interface Said {
  code?: string
  message?: string
  data?: Record<string, unknown>
}

function read(text: string): Said {
  try {
    const said: Said | null = JSON.parse(text)
    return said ?? {}
  } catch {
    return {}
  }
}

import type { Schemas } from './method.ts'
import { retryAfterSeconds } from './retry-after.ts'

export type FieldFault = Schemas['FieldFault']

type Refusal = Extract<Schemas[keyof Schemas], { status: number; message: string }>
type CodeOf<One> = 'code' extends keyof One ? NonNullable<One['code']> : never
type Distribute<Some> = Some extends unknown ? CodeOf<Some> : never

/** Every code that the API refuses with. (docs/errors.md) */
export type ErrorCode = Distribute<Refusal>

type DataOf<Some, Code> = Some extends unknown
  ? Code extends CodeOf<Some>
    ? 'data' extends keyof Some
      ? NonNullable<Some['data']>
      : unknown
    : never
  : never

/** An answer that is no success. */
export class PosternError extends Error {
  override readonly name = 'PosternError'
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number
  /** The code to branch on; undefined for a fault of the server, and for what is no Postern. A newer API may know more. */
  readonly code: ErrorCode | (string & {}) | undefined
  readonly data: Readonly<Record<string, unknown>>
  /** With `BAD_REQUEST`: each member that is wrong. */
  readonly fields: readonly FieldFault[]
  /** Finds the request in the log of the API. */
  readonly requestId: string | null
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, body: unknown, headers: Headers = new Headers()) {
    const told = recordOf(body)
    const { message, code, data } = told
    super(typeof message === 'string' ? message : `The relay answered ${status}`)
    this.status = status
    this.code = typeof code === 'string' ? code : undefined
    this.data = recordOf(data)
    this.fields = Array.isArray(this.data['fields']) ? this.data['fields'] : []
    this.requestId = headers.get('x-request-id')
    this.retryAfterSeconds = retryAfterSeconds(headers)
  }

  /** Narrows `data` to what comes with this code. */
  is<Code extends ErrorCode>(
    code: Code,
  ): this is { readonly code: Code; readonly data: DataOf<Refusal, Code> } {
    return this.code === code
  }

  /** The fault of one member of the request, by the end of its path: `name` finds `body.name`. */
  fault(member: string): string | undefined {
    return this.fields.find(({ path }) => path === member || path.endsWith(`.${member}`))?.message
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

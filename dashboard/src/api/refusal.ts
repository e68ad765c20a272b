import type { components } from './schema.d.ts'

type FieldFault = components['schemas']['FieldFault']

/** An answer that is no success, or none at all (status 0). */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly code: string | undefined
  readonly fields: readonly FieldFault[]
  readonly data: Readonly<Record<string, unknown>>
  readonly requestId: string | null

  private constructor(status: number, body: Record<string, unknown>, requestId: string | null) {
    super(typeof body['message'] === 'string' ? body['message'] : `The server answered ${status}`)
    this.status = status
    this.code = typeof body['code'] === 'string' ? body['code'] : undefined
    this.data = recordOf(body['data'])
    this.fields = Array.isArray(this.data['fields']) ? this.data['fields'] : []
    this.requestId = requestId
  }

  static of(response: Response, body: unknown): Refusal {
    return new Refusal(response.status, recordOf(body), response.headers.get('x-request-id'))
  }

  static offline(cause: unknown): Refusal {
    if (cause instanceof Refusal) return cause
    return new Refusal(0, { message: 'The server cannot be reached.' }, null)
  }

  /** The fault of one member of the body, named by the end of its path. */
  fault(member: string): string | undefined {
    return this.fields.find(({ path }) => path === member || path.endsWith(`.${member}`))?.message
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

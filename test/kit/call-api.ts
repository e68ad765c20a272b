import { expectAnswer } from '../api/documented.ts'

export interface Answer {
  status: number
  headers: Headers
  /** Parsed JSON; undefined when there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  body: any
}

export interface CallOptions {
  /** Null sends none. */
  key?: string | null
  headers?: Record<string, string>
}

/**
 * Asks the management API; a text goes out as it is, everything else as JSON. Fails on an answer that the OpenAPI
 * document does not describe.
 */
export async function callApi(
  apiUrl: string,
  request: { method: string; path: string; body?: unknown },
  { key = null, headers = {} }: CallOptions,
): Promise<Answer> {
  const { method, path, body } = request
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(`${apiUrl}${path}`, {
    method,
    headers: {
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(text !== undefined && { body: text }),
  })
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  // It would not end: that it began is the answer.
  if (isStream) await response.body?.cancel()
  const said = isStream ? '' : await response.text()
  const answer = {
    status: response.status,
    headers: response.headers,
    body: said === '' ? undefined : JSON.parse(said),
  }
  expectAnswer(method, path, answer)
  return answer
}

/** An operation with its arguments, as it goes on the wire. */
export interface Request {
  method: string
  /** Below the base of the API, with its query. */
  path: string
  headers: Record<string, string>
  body: string | null
  signal: AbortSignal | undefined
  /** Sending it twice does no more than sending it once. */
  isRepeatable: boolean
}

/** The second argument of `fetch`. */
export interface Init {
  method: string
  headers: Record<string, string>
  body: string | null
  signal: AbortSignal
}

type Members = Readonly<Record<string, unknown>>

/** `route` is a method and a path with names in braces, as `OPERATIONS` has it. */
export function requestOf(route: string, input: Members): Request {
  const [method = '', template = ''] = route.split(' ')
  const { body, projectId, idempotencyKey, signal, ...rest } = input
  const inPath = new Set<string>()
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    return segment(name, rest[name])
  })
  const query = queryOf(Object.entries(rest).filter(([name]) => !inPath.has(name)))
  const takesBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
  return {
    method,
    path: query === '' ? path : `${path}?${query}`,
    headers: {
      ...(takesBody && { 'content-type': 'application/json' }),
      ...(typeof projectId === 'string' && { 'x-project-id': projectId }),
      ...(typeof idempotencyKey === 'string' && { 'idempotency-key': idempotencyKey }),
    },
    // An action whose members are all optional takes an object without members.
    body: takesBody ? JSON.stringify(body ?? {}) : null,
    signal: signal instanceof AbortSignal ? signal : undefined,
    isRepeatable: method === 'GET' || method === 'PUT' || typeof idempotencyKey === 'string',
  }
}

/** A path may not lead elsewhere: without an id `GET /events/{id}` would list all events. */
function segment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
    throw new TypeError(`${name} must be a text that can stand in a path, and is ${String(value)}`)
  }
  return encodeURIComponent(value)
}

function queryOf(members: readonly [string, unknown][]): string {
  const query = new URLSearchParams()
  for (const [name, value] of members) {
    if (value === undefined) continue
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw new TypeError(`${name} must be a text, a number or a truth value`)
    }
    query.set(name, String(value))
  }
  return query.toString()
}

/** Names in lower case. Without a prototype: `constructor` is a header like any other, or none. */
export type Headers = Readonly<Record<string, string | undefined>>

export type HeaderPair = readonly [name: string, value: string]

/** Node keeps the first of these headers and drops the others. (Node: message.headers) */
const FIRST_WINS: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'content-length',
  'content-type',
  'etag',
  'expires',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'retry-after',
  'server',
  'user-agent',
])

/**
 * The headers of a request by name, repeated ones joined as Node joins them; Set-Cookie, of which Node makes a list,
 * like the rest. Ingest, replay and tests of a filter or a signature all join here. (decisions: Reading a request)
 */
export function joinHeaders(pairs: Iterable<HeaderPair>): Headers {
  const headers: Record<string, string> = Object.create(null)
  for (const [given, value] of pairs) {
    const name = given.toLowerCase()
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (name === 'cookie') headers[name] = `${before}; ${value}`
    else if (!FIRST_WINS.has(name)) headers[name] = `${before}, ${value}`
  }
  return headers
}

/** Whether a header came more than once, which its joined value does not always show. */
export function isRepeated(name: string, joined: string, pairs: readonly HeaderPair[]): boolean {
  const mayBe = FIRST_WINS.has(name) || name === 'cookie' || joined.includes(', ')
  return mayBe && pairs.filter(([given]) => given.toLowerCase() === name).length > 1
}

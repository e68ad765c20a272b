const BYTE_ORDER_MARK = '\uFEFF'

/**
 * The body parsed as its content type says: JSON (`application/json`, `text/json`, any `+json`), or a form as an
 * object whose repeated names are arrays. Null when it is neither or does not parse; never throws.
 */
export function parsePayload(contentType: string | null | undefined, body: Buffer): unknown {
  if (contentType === null || contentType === undefined || body.length === 0) return null
  const end = contentType.indexOf(';')
  const mediaType = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
  if (isJson(mediaType)) return parseJson(body.toString('utf8'))
  if (mediaType === 'application/x-www-form-urlencoded') {
    return objectOf(new URLSearchParams(body.toString('utf8')))
  }
  return null
}

/** The pairs of a query string, with or without its `?`. A bad percent escape stays as it was sent. */
export function parseQuery(raw: string): [name: string, value: string][] {
  return raw === '' || raw === '?' ? [] : [...new URLSearchParams(raw)]
}

/** The pairs as an object; names given more than once become arrays. */
export function objectOf(
  pairs: Iterable<readonly [name: string, value: string]>,
): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>()
  for (const [name, value] of pairs) {
    const before = values.get(name)
    if (before === undefined) values.set(name, value)
    else if (typeof before === 'string') values.set(name, [before, value])
    else before.push(value)
  }
  // Defines members and never assigns them: `__proto__` is a name like any other.
  return Object.fromEntries(values)
}

/** The text with U+0000 and lone surrogates, which PostgreSQL's text and jsonb refuse, replaced by U+FFFD. */
export function cleanText(text: string): string {
  if (text.isWellFormed() && !text.includes('\0')) return text
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** Whether ingest must refuse the body as `UNSUPPORTED_BODY`. (spec: Ingest) */
export function hasNul(body: Buffer): boolean {
  return body.includes(0)
}

function isJson(mediaType: string): boolean {
  return (
    mediaType === 'application/json' || mediaType.endsWith('+json') || mediaType === 'text/json'
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text)
  } catch {
    return null
  }
}

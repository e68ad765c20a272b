import { refuseField } from '../core/errors.ts'

/** Far deeper than any member of ours; a document that is nested for its own sake stops here. */
const DEPTH_MAX = 64

/** The JSON of a request's body; undefined when there is none. */
export function readBody(bytes: unknown, contentType: string | undefined): unknown {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return undefined
  const [mediaType = ''] = (contentType ?? '').split(';')
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    refuseField('headers.content-type', 'Expected application/json')
  }
  const value = parse(bytes)
  refuseUnstorable('body', value)
  return value
}

/**
 * Strings that PostgreSQL cannot hold are refused wherever they stand: U+0000 and halves of surrogate pairs. Walks
 * with a stack of its own, so that depth costs nothing.
 */
export function refuseUnstorable(part: string, root: unknown): void {
  const open: { path: string; value: unknown; depth: number }[] = [
    { path: part, value: root, depth: 0 },
  ]
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { path, value, depth } = item
    if (depth > DEPTH_MAX) refuseField(part, `Nested more than ${DEPTH_MAX} levels deep`)
    if (typeof value === 'string') refuseText(path, value)
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      refuseText(path, key)
      open.push({ path: `${path}.${key}`, value: inner, depth: depth + 1 })
    }
  }
}

function refuseText(path: string, text: string): void {
  if (text.includes('\0') || !text.isWellFormed()) {
    refuseField(path, 'Contains U+0000 or half of a surrogate pair')
  }
}

/** Throws for what is no JSON in UTF-8. */
export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) {
      refuseField('body', `Not valid JSON (${error.message})`)
    }
    throw error
  }
}

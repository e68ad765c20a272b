export type Pair = readonly [name: string, value: string]

export type Fields = ReadonlyMap<string, readonly string[]>

/**
 * The pairs of `application/x-www-form-urlencoded` text, in order, as binary strings. A bad escape stays as it is.
 * Undefined when there are more than `max`.
 */
export function parsePairs(text: string, max = Infinity): Pair[] | undefined {
  if (text === '') return []
  const items = max === Infinity ? text.split('&') : text.split('&', max + 1)
  if (items.length > max) return undefined
  return items.filter((item) => item !== '').map(pairOf)
}

function pairOf(item: string): Pair {
  const equals = item.indexOf('=')
  if (equals < 0) return [decodePart(item), '']
  return [decodePart(item.slice(0, equals)), decodePart(item.slice(equals + 1))]
}

/** Values by name, in order. */
export function fieldsOf(pairs: readonly Pair[]): Fields {
  const fields = new Map<string, string[]>()
  for (const [name, value] of pairs) {
    const values = fields.get(name)
    if (values === undefined) fields.set(name, [value])
    else values.push(value)
  }
  return fields
}

/** The pairs as an object; names given more than once become arrays. */
export function objectOf<T>(
  pairs: Iterable<readonly [name: string, value: T]>,
): Record<string, T | T[]> {
  const values = new Map<string, { first: T; all: T[] }>()
  for (const [name, value] of pairs) {
    const before = values.get(name)
    if (before === undefined) values.set(name, { first: value, all: [value] })
    else before.all.push(value)
  }
  // Defines members and never assigns them: `__proto__` is a name like any other.
  return Object.fromEntries(
    [...values].map(([name, { first, all }]) => [name, all.length === 1 ? first : all]),
  )
}

/** `key` + `value` of every field in ascending order; of repeated values each different one once. (Twilio, Mandrill) */
export function sortedFields(fields: Fields): string {
  const parts: string[] = []
  for (const name of [...fields.keys()].toSorted()) {
    const values = fields.get(name) ?? []
    const distinct = values.length === 1 ? values : [...new Set(values)].toSorted()
    for (const value of distinct) parts.push(name, value)
  }
  return parts.join('')
}

/** A name or value of a form or query, from binary string to binary string. */
export function decodePart(text: string): string {
  return text.includes('+') || text.includes('%') ? decoded(text, SPACE) : text
}

/** Decodes escapes and copies everything else. */
export function percentDecode(text: string): string {
  return decoded(text, PLUS)
}

/** `plus` is the byte that a plus sign stands for. */
function decoded(text: string, plus: number): string {
  const bytes = Buffer.from(text, 'latin1')
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    let byte = bytes[at] ?? 0
    if (byte === PLUS) byte = plus
    else if (byte === PERCENT) {
      const high = hexDigit(bytes[at + 1])
      const low = high < 0 ? -1 : hexDigit(bytes[at + 2])
      if (low >= 0) {
        at += 2
        byte = high * 16 + low
      }
    }
    bytes[length] = byte
    length += 1
  }
  return bytes.toString('latin1', 0, length)
}

const SPACE = 0x20
const PLUS = 0x2b
const PERCENT = 0x25

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

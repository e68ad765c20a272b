/** A form with more fields is not read: no provider comes near, and sorting them must stay cheap. */
const FORM_FIELDS_MAX = 5_000

export type Fields = ReadonlyMap<string, readonly string[]>

/**
 * Fields of `application/x-www-form-urlencoded` text as binary strings, values in order. A bad escape stays as it
 * is. Undefined when there are too many.
 */
export function parseForm(text: string): Fields | undefined {
  const fields = new Map<string, string[]>()
  if (text === '') return fields
  const items = text.split('&', FORM_FIELDS_MAX + 1)
  if (items.length > FORM_FIELDS_MAX) return undefined
  for (const item of items) {
    if (item !== '') addField(fields, item)
  }
  return fields
}

function addField(fields: Map<string, string[]>, item: string): void {
  const equals = item.indexOf('=')
  const name = decode(equals < 0 ? item : item.slice(0, equals))
  const value = equals < 0 ? '' : decode(item.slice(equals + 1))
  const values = fields.get(name)
  if (values === undefined) fields.set(name, [value])
  else values.push(value)
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

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  return spaced.includes('%') ? percentDecode(spaced) : spaced
}

/** Binary string in, binary string out; what is not an escape is copied. */
function percentDecode(text: string): string {
  const bytes = Buffer.from(text, 'latin1')
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    const high = byte === PERCENT ? hexDigit(bytes[at + 1]) : -1
    const low = high < 0 ? -1 : hexDigit(bytes[at + 2])
    if (low >= 0) at += 2
    bytes[length] = low < 0 ? byte : high * 16 + low
    length += 1
  }
  return bytes.toString('latin1', 0, length)
}

const PERCENT = 0x25

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

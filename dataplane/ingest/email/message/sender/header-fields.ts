/** A header of a mail as a binary string, unfolded. */
export type Field = readonly [name: string, value: string]

/** Headers that a mail has once at most. (RFC 5322 3.6, RFC 2045 3) */
const ONCE = new Set(
  'from sender reply-to to cc bcc subject date message-id in-reply-to references mime-version'.split(
    ' ',
  ),
)

/** Whether a header that may stand once stands twice: signatures cover the lowest, readers take the highest. */
export function hasRepeated(fields: readonly Field[]): boolean {
  const seen = new Set<string>()
  return fields.some(([given]) => {
    const name = given.toLowerCase()
    if (!ONCE.has(name) && !name.startsWith('content-')) return false
    const isAgain = seen.has(name)
    seen.add(name)
    return isAgain
  })
}

export function valuesOf(fields: readonly Field[], name: string): string[] {
  return fields.flatMap(([given, value]) => (given.toLowerCase() === name ? [value] : []))
}

import { MAIL_HEAD_BYTES_MAX, MAIL_HEAD_LINES_MAX } from '../../../../core/limits.ts'

/** Header fields as binary strings, unfolded, in their order. */
export type Fields = [name: string, value: string][]

const LF = 0x0a
const CR = 0x0d
const FIELD = /^([!-9;-~]+)[ \t]*:(.*)$/s

/**
 * Reads header fields up to the first empty line. A line that is no field is passed over at the head of a mail, where
 * mailboxes write one, and begins the body of a part.
 */
export function readFields(
  source: Buffer,
  { at: from, end, of }: { at: number; end: number; of: 'mail' | 'part' },
): { fields: Fields; bodyAt: number } | 'longHead' {
  const fields: Fields = []
  let lines: string[] = []
  const close = (): void => {
    const [, name, value] = FIELD.exec(lines.join('')) ?? []
    if (name !== undefined && value !== undefined) fields.push([name, value.trim()])
    lines = []
  }
  let at = from
  for (let count = 0; at < end; count++) {
    const found = source.indexOf(LF, at)
    const stop = found === -1 || found > end ? end : found
    const isFolded = lines.length > 0 && isBlank(source[at])
    const isEmpty = stop === at || (stop === at + 1 && source[at] === CR)
    if (!isEmpty && (stop - from > MAIL_HEAD_BYTES_MAX || count === MAIL_HEAD_LINES_MAX)) {
      return 'longHead'
    }
    const line = source.toString(
      'latin1',
      at,
      source[stop - 1] === CR && stop > at ? stop - 1 : stop,
    )
    if (of === 'part' && !isEmpty && !isFolded && !isField(line)) break
    at = stop + 1
    if (isEmpty) break
    if (!isFolded) close()
    lines.push(line)
  }
  close()
  return { fields, bodyAt: Math.min(at, end) }
}

/** A delimiter is none, though a boundary may have a colon. */
function isField(line: string): boolean {
  return FIELD.test(line) && !line.startsWith('--')
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09
}

import { valuesOf, type Field } from './header-fields.ts'

const HEAD_END = /(?:^|\n)\r?\n/
const HEAD_BYTES = 128 * 1_024
const LINE_BYTES = 1_000

/**
 * Whether the body is of the kind that its type says: a body that is a frame of parts has their boundary, and any other has
 * none. An attacker who changes the type, and not the body, could else show a part of a text as the whole mail.
 */
export function fitsBody(fields: readonly Field[], mail: Buffer): boolean {
  const [type = ''] = valuesOf(fields, 'content-type')
  const [encoding = ''] = valuesOf(fields, 'content-transfer-encoding')
  const frame = frameOf(mail)
  if (!/multipart|message/i.test(type)) return frame === undefined
  // Parts have encodings of their own. (RFC 2045 6.4)
  if (encoding !== '' && !/^(?:7bit|8bit|binary)$/i.test(encoding)) return false
  return !/multipart/i.test(type) || (frame !== undefined && frame === boundaryOf(type))
}

/** Undefined unless exactly one is given, in its plain form. */
function boundaryOf(type: string): string | undefined {
  const [given, ...more] = type.matchAll(/boundary/gi)
  if (given === undefined || more.length > 0 || type.includes('(')) return undefined
  const [, quoted, plain] =
    /;\s*boundary\s*=\s*(?:"([^"\\]+)"|([^\s;"]+))\s*(?:;|$)/i.exec(type) ?? []
  return quoted ?? plain
}

/** The boundary that the first line of dashes opens and the last line of the body closes. */
function frameOf(mail: Buffer): string | undefined {
  const end = HEAD_END.exec(mail.toString('latin1', 0, HEAD_BYTES))
  if (end === null) return undefined
  const start = end.index + end[0].length
  const body = mail.subarray(start)
  const at = body.subarray(0, 2).equals(DASHES) ? 0 : body.indexOf('\n--') + 1
  if (at === 0 && !body.subarray(0, 2).equals(DASHES)) return undefined
  const [opening = ''] = body.toString('latin1', at, at + LINE_BYTES).split('\n')
  const closing = body
    .toString('latin1', Math.max(0, body.length - LINE_BYTES))
    .trimEnd()
    .split('\n')
    .at(-1)
  const boundary = opening.slice(2).trimEnd()
  return boundary !== '' && closing === `--${boundary}--` ? boundary : undefined
}

const DASHES = Buffer.from('--')

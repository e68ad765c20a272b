import { isUtf8 } from 'node:buffer'

import { MAIL_ATTACHMENTS_MAX } from '../../../../core/limits.ts'
import { decodeAs, decodeUndeclared, isUndeclared, labelOf } from '../charsets/charset.ts'
import { metaCharset } from '../charsets/html-charset.ts'
import { unfoldFlowed } from './flowed-text.ts'
import { decodeParameters } from './parameters.ts'
import type { Part } from './parts.ts'
import { decodeTransfer } from './transfer-encoding.ts'
import type { DecodingFault, Report } from './words.ts'

/** A file of a mail: its bytes as its sender had them, and what its headers say of it. */
export interface Attachment {
  filename: string | null
  contentType: string
  charset: string | null
  /** The parameters of `Content-Type`. */
  parameters: Record<string, string>
  disposition: string | null
  contentId: string | null
  content: Buffer
}

/** A member of the payload that is not wholly as its sender wrote it. */
export interface Undecoded extends DecodingFault {
  member: string
}

export interface MailContent {
  text: string | null
  html: string | null
  attachments: Attachment[]
}

/** Members of the payload that were not decoded wholly, each fault once. */
export class UndecodedMembers {
  readonly #byKey = new Map<string, Undecoded>()

  readonly reportOf =
    (member: string): Report =>
    ({ cause, label }) => {
      this.#byKey.set(`${member} ${cause} ${label}`, { member, cause, label })
    }

  list(): Undecoded[] {
    return [...this.#byKey.values()]
  }
}

/** The texts and the files of a mail. Each part is in one of them. */
export function contentOf(
  parts: readonly Part[],
  undecoded: UndecodedMembers,
): MailContent | 'manyAttachments' {
  const texts: Record<'text' | 'html', string[]> = { text: [], html: [] }
  const attachments: Attachment[] = []
  for (const part of parts) {
    const faults: DecodingFault[] = []
    const member = textMemberOf(part)
    const text = member === undefined ? undefined : textOf(part, (fault) => faults.push(fault))
    if (member !== undefined && text !== undefined) {
      texts[member].push(text)
      faults.forEach(undecoded.reportOf(member))
    } else {
      if (attachments.length === MAIL_ATTACHMENTS_MAX) return 'manyAttachments'
      const report = undecoded.reportOf(`attachments.${attachments.length}`)
      attachments.push(attachmentOf(part, report))
      faults.forEach(report)
    }
  }
  return { text: joined(texts.text), html: joined(texts.html), attachments }
}

function joined(texts: readonly string[]): string | null {
  return texts.join('\n') || null
}

/** A part with a file name is a file, wherever it is to be shown. (RFC 2183 2) */
function textMemberOf(part: Part): 'text' | 'html' | undefined {
  const isShown = part.disposition.value === '' || part.disposition.value === 'inline'
  if (!isShown || fileNameOf(part) !== null) return undefined
  if (part.type.value === 'text/plain') return 'text'
  return part.type.value === 'text/html' ? 'html' : undefined
}

function fileNameOf({ type, disposition }: Part, report?: Report): string | null {
  return (
    decodeParameters(disposition, report).get('filename') ||
    decodeParameters(type, report).get('name') ||
    null
  )
}

function bytesOf({ body, encoding }: Part, report: Report): Buffer {
  const bytes = decodeTransfer(body, encoding)
  if (bytes === undefined) report({ cause: 'unknown_encoding', label: encoding })
  return bytes ?? body
}

function attachmentOf(part: Part, report: Report): Attachment {
  const parameters = decodeParameters(part.type)
  const charset = parameters.get('charset')
  return {
    filename: fileNameOf(part, report),
    contentType: part.type.value,
    charset: charset === undefined ? null : labelOf(charset),
    parameters: Object.fromEntries(parameters),
    disposition: part.disposition.value || null,
    contentId: part.contentId ?? null,
    content: bytesOf(part, report),
  }
}

/** The text of a part with lines that end in LF; undefined for one that cannot be read as text. */
function textOf(part: Part, report: Report): string | undefined {
  const parameters = decodeParameters(part.type)
  const bytes = bytesOf(part, report)
  const label = labelOf(parameters.get('charset') ?? '')
  const decoded = isUndeclared(label)
    ? undeclaredText(bytes, part.type.value === 'text/html')
    : declaredText(bytes, label, report)
  const text = decoded?.replaceAll('\r\n', '\n')
  const isFlowed = part.type.value === 'text/plain' && is(parameters.get('format'), 'flowed')
  return isFlowed && text !== undefined
    ? unfoldFlowed(text, is(parameters.get('delsp'), 'yes'))
    : text
}

function is(value: string | undefined, expected: string): boolean {
  return value?.toLowerCase() === expected
}

function undeclaredText(bytes: Buffer, isHtml: boolean): string {
  const label = isHtml ? labelOf(metaCharset(bytes) ?? '') : ''
  // A meta element that can be read in ASCII is wrong about UTF-16. (HTML 13.2.3.3)
  const named = label === '' || label.startsWith('utf-16') ? undefined : decodeAs(bytes, label)
  return named?.isWhole === true ? named.text : decodeUndeclared(bytes)
}

/** In a charset that is not known, only what is UTF-8 without control characters can be read. */
function declaredText(bytes: Buffer, label: string, report: Report): string | undefined {
  const decoded = decodeAs(bytes, label)
  if (decoded?.isWhole === false) report({ cause: 'invalid_bytes', label })
  if (decoded !== undefined) return decoded.text
  report({ cause: 'unknown_charset', label })
  // oxlint-disable-next-line no-control-regex -- it looks for control characters
  return isUtf8(bytes) && !/[\0-\x08\x0e-\x1f]/.test(bytes.toString('latin1'))
    ? decodeUndeclared(bytes)
    : undefined
}

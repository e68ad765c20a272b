import { MAIL_RECEIVED_MAX, MAIL_SIGNATURES_MAX } from '../../../../core/limits.ts'
import { readFields, type Fields } from '../mime/fields.ts'

/** The headers of a mail as binary strings, unfolded, in their order. */
export type MailHead = Fields

/** Why a mail is not taken, by its headers alone. */
export type HeadFault = 'longHead' | 'loops' | 'manySignatures'

/** Reads the headers of a mail, or says why they are refused. Lines that are no header are passed over. */
export function readHead(source: Buffer): MailHead | HeadFault {
  const read = readFields(source, { at: 0, end: source.length, of: 'mail' })
  if (read === 'longHead') return read
  const counts = Map.groupBy(read.fields, ([name]) => name.toLowerCase())
  if ((counts.get('received')?.length ?? 0) > MAIL_RECEIVED_MAX) return 'loops'
  const signatures = counts.get('dkim-signature')?.length ?? 0
  return signatures > MAIL_SIGNATURES_MAX ? 'manySignatures' : read.fields
}

/** Headers that describe the body of the mail; the event's body is JSON. */
const OF_BODY = /^(?:content-|mime-version$)/i

/** The headers that an event of the mail has: those of the mail, and the type of the event's own body. */
export function eventHeaders(head: MailHead): [string, string][] {
  return [['content-type', 'application/json'], ...head.filter(([name]) => !OF_BODY.test(name))]
}

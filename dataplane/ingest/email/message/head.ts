import {
  MAIL_HEAD_BYTES_MAX,
  MAIL_HEAD_LINES_MAX,
  MAIL_RECEIVED_MAX,
  MAIL_SIGNATURES_MAX,
} from '../../../../core/limits.ts'

/** The headers of a mail as binary strings, unfolded, in their order. */
export type MailHead = [name: string, value: string][]

/** Why a mail is not taken, by its headers alone. */
export type HeadFault = 'longHead' | 'loops' | 'unreadable'

const LF = 0x0a
const CR = 0x0d
const FIELD = /^([!-9;-~]+)[ \t]*:(.*)$/s

/** Reads the headers of a mail, or says why they are refused. Lines that are no header are passed over. */
export function readHead(source: Buffer): MailHead | HeadFault {
  const head: MailHead = []
  let field: string | undefined
  let received = 0
  let signatures = 0
  const end = (): void => {
    const [, name, value] = FIELD.exec(field ?? '') ?? []
    field = undefined
    if (name === undefined || value === undefined) return
    head.push([name, value.trim()])
    if (name.toLowerCase() === 'received') received++
    if (name.toLowerCase() === 'dkim-signature') signatures++
  }
  let at = 0
  for (let lines = 0; at < source.length; lines++) {
    const next = source.indexOf(LF, at)
    const stop = next === -1 ? source.length : next
    if (stop > MAIL_HEAD_BYTES_MAX || lines === MAIL_HEAD_LINES_MAX) return 'longHead'
    const line = source.toString(
      'latin1',
      at,
      source[stop - 1] === CR && stop > at ? stop - 1 : stop,
    )
    at = stop + 1
    if (line === '') break
    if (/^[ \t]/.test(line) && field !== undefined) field += line
    else {
      end()
      field = line
    }
  }
  end()
  if (received > MAIL_RECEIVED_MAX) return 'loops'
  return signatures > MAIL_SIGNATURES_MAX ? 'unreadable' : head
}

/** Headers that describe the body of the mail; the event's body is JSON. */
const OF_BODY = /^(?:content-|mime-version$)/i

/** The headers that an event of the mail has: those of the mail, and the type of the event's own body. */
export function eventHeaders(head: MailHead): [string, string][] {
  return [['content-type', 'application/json'], ...head.filter(([name]) => !OF_BODY.test(name))]
}

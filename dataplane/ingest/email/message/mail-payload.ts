import { decodeText } from '../../../../core/request/text.ts'
import type { Attachment, MailContent, UndecodedMembers } from '../mime/mail-content.ts'
import { readMailDate } from '../mime/mail-date.ts'
import { decodeWords, type Report } from '../mime/words.ts'
import { readAddresses } from './address/address-list.ts'
import type { MailHead } from './head.ts'
import type { Recipient } from './recipient.ts'
import type { Objection } from './sender/objection.ts'

/** A message as its sender handed it over. */
export interface Envelope {
  /** Empty for a mail that wants no answer. */
  mailFrom: string
  helo: string
  remoteIp: string
  tls: boolean
}

/** Why it is open who wrote a mail, whatever is signed. */
export type MailFault = 'header_repeated' | 'no_single_author'

/** How the senders that a mail names stand to it: results as RFC 8601 has them. */
export interface Authentication {
  fault: MailFault | null
  spf: { result: string; domain: string | null }
  /** `reason`: why a valid signature has the result `policy`. `signed`: names of the headers that a valid one covers. */
  dkim: {
    domain: string | null
    selector: string | null
    result: string
    reason: MailFault | Objection | null
    signed: string[]
  }[]
  /** `domain`: of the author; the policy may come from a parent domain. */
  dmarc: { result: string; domain: string | null; policy: string | null }
}

interface Person {
  name: string
  address: string
}

/** The members of an event's body that a mail gives, whoever gets it. */
export function payloadOf(
  { text, html, attachments }: MailContent,
  head: MailHead,
  {
    mailFrom,
    authentication,
    undecoded,
  }: { mailFrom: string; authentication: Authentication; undecoded: UndecodedMembers },
): object {
  const { reportOf } = undecoded
  const from = peopleOf(head, 'from', reportOf('from'))
  const subject = textOf(head, 'subject')
  return {
    from: from.find(({ address }) => address !== '') ?? from[0] ?? null,
    to: peopleOf(head, 'to', reportOf('to')),
    cc: peopleOf(head, 'cc', reportOf('cc')),
    replyTo: peopleOf(head, 'reply-to', reportOf('replyTo')),
    subject: subject === null ? null : decodeWords(subject, reportOf('subject')),
    date: dateOf(head),
    messageId: textOf(head, 'message-id'),
    inReplyTo: textOf(head, 'in-reply-to'),
    references: (textOf(head, 'references') ?? '').split(/\s+/).filter((id) => id !== ''),
    text,
    html,
    headers: headersOf(head),
    attachments: attachments.map(viewOf),
    undecoded: undecoded.list(),
    authentication,
    isAutomatic: isAutomatic(head, mailFrom),
  }
}

/** The whole body: `read` is JSON without its last brace. Other recipients of the message are none of a source's business. */
export function bodyFor(read: Buffer, envelope: Envelope, { address, tag }: Recipient): Buffer {
  const { mailFrom, helo, remoteIp, tls } = envelope
  const own = {
    envelope: { mailFrom, rcptTo: [address], helo, remoteIp, tls },
    recipientTag: tag,
  }
  return Buffer.concat([read, Buffer.from(`,${JSON.stringify(own).slice(1)}`)])
}

/** The addresses of the headers of a name. Encoded words are decoded last: they are no part of an address. */
function peopleOf(head: MailHead, header: string, report: Report): Person[] {
  return head
    .filter(([name]) => name.toLowerCase() === header)
    .flatMap(([, value]) => readAddresses(decodeText(value)))
    .map(({ name, address }) => ({ name: decodeWords(name, report), address }))
}

/** The first of the headers of a name; null without one, or where it is empty. */
function textOf(head: MailHead, name: string): string | null {
  const [, value = ''] = head.find(([given]) => given.toLowerCase() === name) ?? []
  return decodeText(value) || null
}

function dateOf(head: MailHead): string | null {
  const text = textOf(head, 'date')
  return text === null ? null : (readMailDate(text) ?? text)
}

/** By name in lower case; a list where a header came more than once. */
function headersOf(head: MailHead): Record<string, string | string[]> {
  const byName = Map.groupBy(head, ([name]) => name.toLowerCase())
  return Object.fromEntries(
    [...byName].map(([name, pairs]) => {
      const values = pairs.map(([, value]) => decodeText(value))
      return [name, values.length === 1 ? (values[0] ?? '') : values]
    }),
  )
}

function viewOf({ content, ...described }: Attachment): object {
  return { ...described, sizeBytes: content.length, contentBase64: content.toString('base64') }
}

/** Sent by a program, so that nobody should answer it. (RFC 3834) */
function isAutomatic(head: MailHead, mailFrom: string): boolean {
  return (
    mailFrom === '' ||
    head.some(([given, value]) => {
      const name = given.toLowerCase()
      const text = value.toLowerCase()
      if (name === 'auto-submitted') return !text.startsWith('no')
      return name === 'precedence' && /^(?:bulk|junk|list|auto_reply)\b/.test(text)
    })
  )
}

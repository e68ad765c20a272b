import { decodeWords, type Attachment, type Email } from 'postal-mime'

import { decodeText } from '../../../../core/request/text.ts'
import { readAddresses } from './address/address-list.ts'
import type { MailHead } from './head.ts'
import type { Recipient } from './recipient.ts'

/** A message as its sender handed it over. */
export interface Envelope {
  /** Empty for a mail that wants no answer. */
  mailFrom: string
  helo: string
  remoteIp: string
  tls: boolean
}

/** How the senders that a mail names stand to it: results as RFC 8601 has them. */
export interface Authentication {
  spf: { result: string; domain: string | null }
  dkim: { domain: string | null; selector: string | null; result: string }[]
  dmarc: { result: string; domain: string | null; policy: string | null }
}

interface Person {
  name: string
  address: string
}

/** The members of an event's body that a mail gives, whoever gets it. */
export function payloadOf(
  mail: Email,
  head: MailHead,
  { mailFrom, authentication }: { mailFrom: string; authentication: Authentication },
): object {
  const from = peopleOf(head, 'from')
  return {
    from: from.find(({ address }) => address !== '') ?? from[0] ?? null,
    to: peopleOf(head, 'to'),
    cc: peopleOf(head, 'cc'),
    replyTo: peopleOf(head, 'reply-to'),
    subject: mail.subject ?? null,
    date: mail.date ?? null,
    messageId: mail.messageId ?? null,
    inReplyTo: mail.inReplyTo ?? null,
    references: (mail.references ?? '').split(/\s+/).filter((id) => id !== ''),
    text: mail.text ?? null,
    html: mail.html ?? null,
    headers: headersOf(head),
    attachments: mail.attachments.map(attachmentOf),
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
function peopleOf(head: MailHead, header: string): Person[] {
  return head
    .filter(([name]) => name.toLowerCase() === header)
    .flatMap(([, value]) => readAddresses(decodeText(value)))
    .map(({ name, address }) => ({ name: decodeWords(name), address }))
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

function attachmentOf({ filename, mimeType, disposition, contentId, content }: Attachment): object {
  const contentBase64 =
    typeof content === 'string' ? content : Buffer.from(new Uint8Array(content)).toString('base64')
  return {
    filename,
    contentType: mimeType,
    disposition,
    contentId: contentId ?? null,
    sizeBytes: Buffer.byteLength(contentBase64, 'base64'),
    contentBase64,
  }
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

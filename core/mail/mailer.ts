import { createTransport } from 'nodemailer'

import { MAIL_PHASE_MS, MAIL_TIMEOUT_MS, MAILS_AT_ONCE, MAILS_WAITING_MAX } from '../limits.ts'
import { Semaphore } from '../pacing/semaphore.ts'
import { within } from '../within.ts'
import { serverOf } from './server.ts'

/** To one address, in plain text and in HTML. */
export interface Mail {
  to: string
  subject: string
  text: string
  html: string
  /** Beside those of every mail. */
  headers?: Readonly<Record<string, string>>
}

export interface Mailer {
  /** Resolves when the server has taken the mail. Throws MailFailed. */
  send(mail: Mail): Promise<void>
}

/** Why a mail was not sent, in words that may be logged. */
export class MailFailed extends Error {
  override readonly name = 'MailFailed'
  /** Whether the server refused it for good: it would refuse it again. */
  readonly isLasting: boolean

  constructor(message: string, isLasting: boolean) {
    super(`Cannot send mail: ${message}`)
    this.isLasting = isLasting
  }
}

/** Sends mail through the server of `SMTP_URL`, a few at once, each over a connection of its own. */
export function openMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport({
    ...serverOf(url),
    connectionTimeout: MAIL_PHASE_MS,
    greetingTimeout: MAIL_PHASE_MS,
    dnsTimeout: MAIL_PHASE_MS,
    socketTimeout: MAIL_PHASE_MS,
    // No mail of ours is read from a file or an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const turns = new Semaphore(MAILS_AT_ONCE)
  const send = async ({ to, headers, ...words }: Mail): Promise<void> => {
    try {
      await transport.sendMail({
        ...words,
        from,
        // As an object it is one address, whatever signs it has.
        to: { name: '', address: to },
        headers: { 'auto-submitted': 'auto-generated', ...headers },
      })
    } catch (error) {
      throw failureOf(error)
    }
  }
  return {
    async send(mail) {
      if (turns.waiting >= MAILS_WAITING_MAX) throw new MailFailed('too many wait already', false)
      await within(
        MAIL_TIMEOUT_MS,
        turns.take(async () => await send(mail)),
        () => {
          throw new MailFailed(`it took more than ${MAIL_TIMEOUT_MS / 1_000} s`, false)
        },
      )
    },
  }
}

const SHOWN_MAX = 200
const LASTING_MIN = 500

function failureOf(error: unknown): MailFailed {
  const { responseCode, response, message } = Object(error)
  const said = String(response ?? message ?? error).replaceAll(/\p{Cc}+/gu, ' ')
  const isLasting = typeof responseCode === 'number' && responseCode >= LASTING_MIN
  return new MailFailed(said.slice(0, SHOWN_MAX), isLasting)
}

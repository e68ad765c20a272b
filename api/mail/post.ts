import { createHash } from 'node:crypto'

import type { Db } from '../../core/db/connection/db.ts'
import { takeAllowance } from '../../core/db/connectors/public-limits.ts'
import {
  MAIL_SECONDS_PER_ADDRESS,
  MAILS_PER_ADDRESS,
  MAILS_WAITING_MAX,
} from '../../core/limits.ts'
import type { Logger } from '../../core/log.ts'
import { writeLetter, type Letter } from '../../core/mail/letter.ts'
import { openMailer, type Mailer } from '../../core/mail/mailer.ts'

interface PostDeps {
  mailer: Mailer
  /** Links in letters begin with it: a request may name any host. */
  origin: string
  db: Db
  log: Logger
}

/** Sends the letters of accounts, few to one address: strangers can have them sent to anybody. */
export class Post implements AsyncDisposable {
  readonly #deps: PostDeps
  readonly #works = new Set<Promise<void>>()

  constructor(deps: PostDeps) {
    this.#deps = deps
  }

  /** Writes a letter and sends it, if this address may have one more. Whether the server has taken it. */
  async send(to: string, write: (origin: string) => Letter | Promise<Letter>): Promise<boolean> {
    const { mailer, origin, db, log } = this.#deps
    try {
      const scope = `mail:${createHash('sha256').update(to).digest('base64url')}`
      const waitMs = await takeAllowance(db, scope, {
        burst: MAILS_PER_ADDRESS,
        intervalMs: MAIL_SECONDS_PER_ADDRESS * 1_000,
      })
      if (waitMs > 0) {
        log.warn('Too many mails to one address: this one is not sent')
        return false
      }
      await mailer.send({ to, ...writeLetter(await write(origin)) })
      return true
    } catch (err) {
      log.warn({ err }, 'Cannot send a mail')
      return false
    }
  }

  /** Does work behind the answer, so that the time of the answer tells nobody whether there is anything to send. */
  later(work: () => Promise<void>): void {
    const { log } = this.#deps
    if (this.#works.size >= MAILS_WAITING_MAX) {
      log.warn('Too many mails are on their way: this one is not sent')
      return
    }
    const done = work()
      .catch((err: unknown) => log.error({ err }, 'Cannot send a mail'))
      .finally(() => this.#works.delete(done))
    this.#works.add(done)
  }

  /** Waits for what was begun. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#works)
  }
}

/** The post of an installation that has a mail server. */
export function openPost(
  deps: Pick<PostDeps, 'db' | 'log'>,
  settings: Partial<Record<'SMTP_URL' | 'MAIL_FROM' | 'API_URL', string | undefined>>,
): Post | undefined {
  const { SMTP_URL: url, MAIL_FROM: from, API_URL: origin } = settings
  if (url === undefined || from === undefined || origin === undefined) return undefined
  return new Post({ ...deps, mailer: openMailer({ url, from }), origin })
}

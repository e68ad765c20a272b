import { createHash } from 'node:crypto'

import { DAY_MS, HOUR_MS } from '../../core/clock.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { takeAllowance, type Allowance } from '../../core/db/connectors/public-limits.ts'
import {
  INVITATION_MAILS_PER_DAY,
  LINK_MAILS_PER_HOUR,
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

/** A letter as far as it is counted. */
export interface Sending {
  to: string
  kind: 'invitation' | 'reset' | 'sign-up' | 'verify'
  /** The organisation that invites, or else the network, session or known browser that asks for the letter. */
  by: string
  /** Whether `by` has proved that the account is theirs: strangers do not use up its letters. */
  isOwn?: boolean
}

/** Sends the letters of accounts, few to one address: strangers can have them sent to anybody. */
export class Post implements AsyncDisposable {
  readonly #deps: PostDeps
  readonly #works = new Set<Promise<void>>()

  constructor(deps: PostDeps) {
    this.#deps = deps
  }

  /** Writes a letter and sends it, if there may be one more. Whether the server has taken it. */
  async send(
    sending: Sending,
    write: (origin: string) => Letter | Promise<Letter>,
  ): Promise<boolean> {
    const { mailer, origin, db, log } = this.#deps
    const { to, kind } = sending
    try {
      for (const { scope, allowance } of budgetsOf(sending)) {
        if ((await takeAllowance(db, scope, allowance)) === 0) continue
        log.warn({ kind }, 'Too many mails to one address or of one sender: this one is not sent')
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

interface Budget {
  scope: string
  allowance: Allowance
}

/**
 * The budgets that a letter needs a place in, the narrow one first, which a flood uses up alone. Kinds and askers have their own, so
 * that the letters a stranger asks for leave those of the owner and of an admin. All strangers together have a budget as well:
 * where it is used up, a link was mailed lately, and that link is still good.
 */
function budgetsOf({ to, kind, by, isOwn = false }: Sending): Budget[] {
  const recipient = createHash('sha256').update(to).digest('base64url')
  const asker = createHash('sha256').update(by).digest('base64url')
  const scope = `mail:${kind}:${recipient}:${asker}`
  if (kind === 'invitation') {
    return [
      { scope, allowance: each(MAILS_PER_ADDRESS, DAY_MS) },
      { scope: `mail:${kind}:${asker}`, allowance: each(INVITATION_MAILS_PER_DAY, DAY_MS) },
    ]
  }
  const intervalMs = MAIL_SECONDS_PER_ADDRESS * 1_000
  const narrow = { scope, allowance: { burst: MAILS_PER_ADDRESS, intervalMs } }
  const wide = {
    scope: `mail:${kind}:${recipient}`,
    allowance: each(LINK_MAILS_PER_HOUR, HOUR_MS),
  }
  return isOwn ? [narrow] : [narrow, wide]
}

/** So many at once, and as many again spread over a period. */
function each(burst: number, periodMs: number): Allowance {
  return { burst, intervalMs: Math.ceil(periodMs / burst) }
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

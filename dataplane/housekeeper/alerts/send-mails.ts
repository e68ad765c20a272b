import { createHash } from 'node:crypto'

import type { Clock } from '../../../core/clock.ts'
import {
  dropMails,
  postponeMails,
  takeDueMails,
  type DueMail,
} from '../../../core/db/alerts/alert-mails.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import {
  returnAllowance,
  takeAllowance,
  type Allowance,
} from '../../../core/db/connectors/public-limits.ts'
import {
  ALERT_MAIL_SECONDS_PER_ADDRESS,
  ALERT_MAIL_TRIES,
  ALERT_MAILS_PER_ADDRESS,
} from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import { writeLetter, type Letter } from '../../../core/mail/letter.ts'
import { MailFailed, type Mailer } from '../../../core/mail/mailer.ts'
import type { Keyring } from '../../../core/secrets/sealed.ts'
import { unsubscribeToken } from '../../../core/secrets/unsubscribe-token.ts'

/** Mails of one run; the others follow at the next. */
const MAILS_MAX = 200
const FIRST_WAIT_SECONDS = 60

export interface MailsDeps {
  db: Db
  clock: Clock
  log: Logger
  mailer: Mailer
  keyring: Keyring
  /** Links in letters begin with it. */
  dashboardUrl: string
}

/** Alerts that one letter describes; of the others it says how many there are. */
const SHOWN_MAX = 20

const ALLOWANCE: Allowance = {
  burst: ALERT_MAILS_PER_ADDRESS,
  intervalMs: ALERT_MAIL_SECONDS_PER_ADDRESS * 1_000,
}

/**
 * Sends what is due: to each person one letter, however many alerts there are, and few letters to one address: what comes past
 * them waits and is in the next letter. A mail server that does not answer holds each for seconds: a housekeeper that may not
 * go on leaves the rest, which is due again, to the next one.
 */
export async function sendAlertMails(deps: MailsDeps, mayGoOn: () => boolean): Promise<void> {
  const { db, clock } = deps
  const due = await takeDueMails(db, clock.now(), {
    limit: MAILS_MAX,
    firstWaitSeconds: FIRST_WAIT_SECONDS,
  })
  const letters = Map.groupBy(due, ({ personId, organisationId }) => personId + organisationId)
  for (const mails of letters.values()) {
    const [first] = mails
    if (first === undefined) continue
    if (!mayGoOn()) return
    await sendLetter(deps, mails, first)
  }
}

async function sendLetter(
  deps: MailsDeps,
  mails: readonly DueMail[],
  first: DueMail,
): Promise<void> {
  const { db, clock, log, mailer } = deps
  const scope = `alert-mail:${createHash('sha256').update(first.email).digest('base64url')}`
  const waitMs = await takeAllowance(db, scope, ALLOWANCE)
  if (waitMs > 0) {
    await postponeMails(db, idsOf(mails), clock.now() + waitMs)
    return
  }
  try {
    await mailer.send({ to: first.email, ...writeLetter(letterOf(deps, mails, first)) })
    await dropMails(db, idsOf(mails))
  } catch (err) {
    log.warn({ err }, 'Cannot send a mail about an alert')
    await returnAllowance(db, scope, ALLOWANCE)
    const isLasting = err instanceof MailFailed && err.isLasting
    const given = mails.filter(({ tries }) => isLasting || tries >= ALERT_MAIL_TRIES)
    await dropMails(db, idsOf(given))
  }
}

function letterOf(
  { keyring, dashboardUrl }: MailsDeps,
  mails: readonly DueMail[],
  first: DueMail,
): Letter {
  const { words, organisation } = first
  const shown = mails.slice(0, SHOWN_MAX).map(({ words: { summary, advice } }) => {
    return advice === null ? summary : `${summary} ${advice}`
  })
  const more = mails.length - shown.length
  return {
    subject: mails.length === 1 ? words.subject : `${mails.length} alerts of ${organisation}`,
    paragraphs: more === 0 ? shown : [...shown, `And ${more} more: the page Alerts shows all.`],
    action: { label: 'Open the dashboard', url: words.url },
    end: `You get this as an owner or admin of "${organisation}". The page Alerts has the mails that you can choose.`,
    unsubscribeUrl: `${dashboardUrl}/unsubscribe?token=${unsubscribeToken(keyring, first)}`,
  }
}

function idsOf(mails: readonly DueMail[]): string[] {
  return mails.map(({ id }) => id)
}

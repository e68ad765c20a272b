import type { Clock } from '../../../core/clock.ts'
import { dropMails, takeDueMails, type DueMail } from '../../../core/db/alerts/alert-mails.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { ALERT_MAIL_TRIES } from '../../../core/limits.ts'
import type { Logger } from '../../../core/log.ts'
import { writeLetter, type Letter } from '../../../core/mail/letter.ts'
import { MailFailed, type Mailer } from '../../../core/mail/mailer.ts'

/** Mails of one run; the others follow at the next. */
const MAILS_MAX = 200
const FIRST_WAIT_SECONDS = 60

export interface MailsDeps {
  db: Db
  clock: Clock
  log: Logger
  mailer: Mailer
}

/**
 * Sends what is due: to each person one letter, however many alerts there are. A mail server that does not answer holds
 * each for seconds: whoever may not go on leaves the others, which are due again, to the next housekeeper.
 */
export async function sendAlertMails(
  { db, clock, log, mailer }: MailsDeps,
  mayGoOn: () => boolean,
): Promise<void> {
  const due = await takeDueMails(db, clock.now(), {
    limit: MAILS_MAX,
    firstWaitSeconds: FIRST_WAIT_SECONDS,
  })
  const letters = Map.groupBy(due, ({ personId, organisationId }) => personId + organisationId)
  for (const mails of letters.values()) {
    const [first] = mails
    if (first === undefined) continue
    if (!mayGoOn()) return
    try {
      await mailer.send({ to: first.email, ...writeLetter(letterOf(mails, first)) })
      await dropMails(db, idsOf(mails))
    } catch (err) {
      log.warn({ err }, 'Cannot send a mail about an alert')
      const isLasting = err instanceof MailFailed && err.isLasting
      const given = mails.filter(({ tries }) => isLasting || tries >= ALERT_MAIL_TRIES)
      await dropMails(db, idsOf(given))
    }
  }
}

function letterOf(mails: readonly DueMail[], { words, organisation }: DueMail): Letter {
  const isAlone = mails.length === 1
  return {
    subject: isAlone ? words.subject : `${mails.length} alerts of ${organisation}`,
    paragraphs: mails.map(({ words: { summary, advice } }) =>
      advice === null ? summary : `${summary} ${advice}`,
    ),
    action: { label: 'Open the dashboard', url: words.url },
    end: `You get this as an owner or admin of "${organisation}". The page Alerts has what you want to hear of.`,
  }
}

function idsOf(mails: readonly DueMail[]): string[] {
  return mails.map(({ id }) => id)
}

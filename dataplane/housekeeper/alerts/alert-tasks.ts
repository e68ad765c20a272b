import type { Registry } from 'prom-client'

import type { Mailer } from '../../../core/mail/mailer.ts'
import { countTold, measureAlerts } from './alert-metrics.ts'
import { sendAlertMails } from './send-mails.ts'
import { AlertWatch, type WatchDeps } from './watch.ts'

const LOOK_MS = 15_000
const MAILS_MS = 5_000
const PRUNE_MS = 60_000

export interface AlertTasksDeps extends Omit<WatchDeps, 'told' | 'hasMail'> {
  registry: Registry
  /** Undefined: there is no mail server. */
  mailer?: Mailer
}

/** The work about alerts that a housekeeper repeats, and how often. */
export function alertTasks(
  deps: AlertTasksDeps,
  isLeader: () => boolean,
): [everyMs: number, name: string, act: () => Promise<void>][] {
  const { mailer, registry } = deps
  const hasMail = mailer !== undefined
  const watch = new AlertWatch({ ...deps, told: countTold(registry), hasMail })
  measureAlerts(registry, () => (isLeader() ? watch.openAlerts : undefined))
  return [
    [LOOK_MS, 'alerts', async () => await watch.pass()],
    [PRUNE_MS, 'old alerts', async () => await watch.prune()],
    ...(hasMail
      ? [
          [
            MAILS_MS,
            'alert mails',
            async () => await sendAlertMails({ ...deps, mailer }),
          ] satisfies [number, string, () => Promise<void>],
        ]
      : []),
  ]
}

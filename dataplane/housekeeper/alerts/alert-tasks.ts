import type { Registry } from 'prom-client'

import type { Mailer } from '../../../core/mail/mailer.ts'
import type { Keyring } from '../../../core/secrets/sealed.ts'
import { countTold, measureAlerts } from './alert-metrics.ts'
import { sendAlertMails } from './send-mails.ts'
import { AlertWatch, type WatchDeps } from './watch.ts'

const LOOK_MS = 15_000
const MAILS_MS = 5_000
const PRUNE_MS = 60_000

export interface AlertTasksDeps extends Omit<WatchDeps, 'told' | 'hasMail'> {
  registry: Registry
  keyring: Keyring
  /** Undefined: there is no mail server. */
  mailer?: Mailer
}

type Task = [everyMs: number, name: string, act: () => Promise<void>]

/** The work about alerts that a housekeeper repeats, and how often. */
export function alertTasks(deps: AlertTasksDeps, mayGoOn: () => boolean): Task[] {
  const { mailer, registry } = deps
  const hasMail = mailer !== undefined
  const watch = new AlertWatch({ ...deps, told: countTold(registry), hasMail })
  measureAlerts(registry, () => (mayGoOn() ? watch.openAlerts : undefined))
  const tasks: Task[] = [
    [LOOK_MS, 'alerts', async () => await watch.pass()],
    [PRUNE_MS, 'old alerts', async () => await watch.prune()],
  ]
  if (hasMail) {
    const act = async (): Promise<void> => await sendAlertMails({ ...deps, mailer }, mayGoOn)
    tasks.push([MAILS_MS, 'alert mails', act])
  }
  return tasks
}

import { ALERT_KINDS, type NotificationType } from '../../../core/alerts/alert-types.ts'
import {
  openingOf,
  placeOf,
  recoveryOf,
  type Notification,
} from '../../../core/alerts/notification.ts'
import { isToTell, levelsToTell } from '../../../core/alerts/telling.ts'
import type { Clock } from '../../../core/clock.ts'
import { mutedUntil } from '../../../core/db/alerts/alert-choices.ts'
import { insertAlertDelivery } from '../../../core/db/alerts/alert-deliveries.ts'
import { findAlertEndpoint, type AlertEndpoint } from '../../../core/db/alerts/alert-endpoint.ts'
import { keepAlertMails } from '../../../core/db/alerts/alert-mails.ts'
import { recordTelling } from '../../../core/db/alerts/alert-notifications.ts'
import { claimTelling, type Alert } from '../../../core/db/alerts/alerts.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { partitionOf } from '../../../core/delivery/partition-of.ts'
import { newId } from '../../../core/ids.ts'
import { entitlementsOf, isPaced, type Plans } from '../../../core/plans/plans.ts'

export interface TellDeps {
  db: Db
  clock: Clock
  plans: Plans
  /** Origin of the dashboard, for links. */
  dashboardUrl: string
  /** Whether there is a mail server. */
  hasMail: boolean
  /** Counts notifications by their type. */
  told: Record<NotificationType, number>
}

/** Tells of an open alert, where that is due and there is somebody to tell. In one transaction with `claimTelling`. */
export async function tellOpening(tx: Db, deps: TellDeps, alert: Alert): Promise<void> {
  const nowMs = deps.clock.now()
  const mute = await mutedUntil(tx, alert)
  const isDue = isToTell(
    { ...alert, isAcknowledged: alert.acknowledgedAtMs !== null, mutedUntilMs: mute },
    nowMs,
  )
  if (!isDue) return
  const endpoint = await receiverOf(tx, alert.organisationId)
  if (endpoint === undefined && !deps.hasMail) return
  if (!(await claimTelling(tx, alert, nowMs))) return
  for (const level of levelsToTell(alert.type, alert.toldLevel, alert.level)) {
    const notification = openingOf(alert, { level, nowMs, dashboardUrl: deps.dashboardUrl })
    await send(tx, deps, { alert, level, notification, endpoint })
  }
}

/** Tells that a subject is well whose alert was told of. A mute does not hold it back: it ends what was said. */
export async function tellRecovery(tx: Db, deps: TellDeps, closed: Alert): Promise<void> {
  if (closed.toldLevel === 0) return
  const options = { nowMs: deps.clock.now(), dashboardUrl: deps.dashboardUrl }
  const notification = recoveryOf(closed, options)
  if (notification === undefined) return
  const endpoint = await receiverOf(tx, closed.organisationId)
  await send(tx, deps, { alert: closed, level: 0, notification, endpoint })
}

/** The endpoint of the organisation's alerts, unless it has none or said that it is gone. */
async function receiverOf(tx: Db, organisationId: string): Promise<AlertEndpoint | undefined> {
  const endpoint = await findAlertEndpoint(tx, organisationId)
  return endpoint?.destination.isEnabled === true ? endpoint : undefined
}

interface Telling {
  alert: Alert
  level: number
  notification: Notification
  endpoint: AlertEndpoint | undefined
}

async function send(tx: Db, deps: TellDeps, telling: Telling): Promise<void> {
  const { alert, level, notification, endpoint } = telling
  const nowMs = deps.clock.now()
  const id = newId(nowMs)
  const { type } = notification
  const deliveryId =
    endpoint === undefined ? null : await deliver(tx, deps, { id, notification, endpoint })
  const mails = deps.hasMail ? await keepAlertMails(tx, mailOf(deps, telling), nowMs) : 0
  if (deliveryId === null && mails === 0) return
  await recordTelling(tx, { id, alertId: alert.id, type, level, atMs: nowMs, deliveryId, mails })
  deps.told[type]++
}

async function deliver(
  tx: Db,
  deps: TellDeps,
  {
    id,
    notification,
    endpoint,
  }: { id: string; notification: Notification; endpoint: AlertEndpoint },
): Promise<string> {
  const { destination, plan, overrides, retentionClass } = endpoint
  const entitlements = entitlementsOf(deps.plans, plan, overrides)
  return await insertAlertDelivery(
    tx,
    {
      class: retentionClass,
      id,
      destination,
      partition: partitionOf(destination.organisationId, destination.id, isPaced(entitlements)),
      eventType: notification.type,
      body: JSON.stringify(notification),
    },
    deps.clock.now(),
  )
}

const SUBJECT_LENGTH_MAX = 150

function mailOf({ dashboardUrl }: TellDeps, { alert, notification }: Telling) {
  const { type, data } = notification
  const summary = String(data['summary'])
  const isOpening = type === alert.type
  return {
    organisationId: alert.organisationId,
    type,
    words: {
      subject: summary.slice(0, SUBJECT_LENGTH_MAX),
      summary,
      advice: isOpening ? ALERT_KINDS[alert.type].advice : null,
      url: placeOf(alert, dashboardUrl),
    },
  }
}

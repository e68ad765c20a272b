import { z } from 'zod'

import { ALERT_KINDS, ALERT_TYPES } from '../../core/alerts/alert-types.ts'
import { timestamp } from '../../core/clock.ts'
import type { SentAlert } from '../../core/db/alerts/alert-deliveries.ts'
import type { ShownAlert } from '../../core/db/alerts/alert-lists.ts'
import type { Telling } from '../../core/db/alerts/alert-notifications.ts'
import type { Destination } from '../../core/db/configuration/destinations.ts'
import { decodeId, encodeId, timeOfId } from '../../core/ids.ts'
import { Id, Timestamp } from '../http/fields.ts'

/** Kinds of resources that alerts are about. */
const SUBJECTS = ['dst', 'cnr', 'src', 'org'] as const

/** The id of a subject of alerts; the uuid inside. */
export const SubjectId = z.string().transform((text, context) => {
  for (const prefix of SUBJECTS) {
    const id = decodeId(prefix, text)
    if (id !== undefined) return { id, prefix }
  }
  context.addIssue({
    code: 'custom',
    message: 'Expected the id of a destination, connector, source or organisation',
  })
  return z.NEVER
})

const TellingShape = z
  .object({
    type: z.string(),
    level: z.int(),
    at: Timestamp,
    mails: z.int(),
    delivery: z
      .object({
        id: Id('dlv'),
        status: z.string().nullable(),
        attempts: z.int().nullable(),
        lastError: z.string().nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'AlertNotification', description: 'A notification of an alert.' })

export const AlertShape = z
  .object({
    id: Id('alr'),
    type: z.enum(ALERT_TYPES),
    projectId: Id('prj').nullable(),
    subject: z.object({ id: z.string(), name: z.string() }),
    level: z.int(),
    summary: z.string(),
    advice: z.string(),
    evidence: z.record(z.string(), z.unknown()),
    openedAt: Timestamp,
    closedAt: Timestamp.nullable(),
    acknowledgedAt: Timestamp.nullable(),
    acknowledgedBy: z.string().nullable(),
    mutedUntil: Timestamp.nullable(),
    notifications: z.array(TellingShape),
  })
  .meta({ id: 'Alert', description: 'Something that is wrong with a subject, until it is well.' })

export function viewAlert(
  alert: ShownAlert,
  tellings: readonly Telling[],
): z.input<typeof AlertShape> {
  const { subject, advice } = ALERT_KINDS[alert.type]
  return {
    id: encodeId('alr', alert.id),
    type: alert.type,
    projectId: alert.projectId === null ? null : encodeId('prj', alert.projectId),
    subject: { id: encodeId(subject, alert.subjectId), name: alert.name },
    level: alert.level,
    summary: alert.summary,
    advice,
    evidence: alert.evidence,
    openedAt: timestamp(alert.openedAtMs),
    closedAt: shownTime(alert.closedAtMs),
    acknowledgedAt: shownTime(alert.acknowledgedAtMs),
    acknowledgedBy: alert.acknowledgedBy,
    mutedUntil: shownTime(alert.mutedUntilMs),
    notifications: tellings
      .filter(({ alertId }) => alertId === alert.id)
      .map(({ type, level, at, mails, deliveryId, status, attempts, lastError }) => ({
        type,
        level,
        at: timestamp(at.getTime()),
        mails,
        delivery:
          deliveryId === null
            ? null
            : { id: encodeId('dlv', deliveryId), status, attempts, lastError },
      })),
  }
}

export const AlertEndpointShape = z
  .object({
    url: z.string(),
    isEnabled: z.boolean(),
    disabledReason: z.string().nullable(),
    updatedAt: Timestamp,
    deliveries: z.array(
      z.object({
        id: Id('dlv'),
        type: z.string().nullable(),
        at: Timestamp,
        status: z.string(),
        attempts: z.int(),
        lastError: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'AlertEndpoint', description: 'Where the alerts of an organisation go.' })

export function viewEndpoint(
  { url, isEnabled, disabledReason, updatedAt }: Destination,
  sent: readonly SentAlert[],
): z.input<typeof AlertEndpointShape> {
  return {
    url,
    isEnabled,
    disabledReason,
    updatedAt: timestamp(updatedAt.getTime()),
    deliveries: sent.map(({ deliveryId, ...delivery }) => ({
      ...delivery,
      id: encodeId('dlv', deliveryId),
      at: timestamp(timeOfId(deliveryId)),
    })),
  }
}

function shownTime(ms: number | null): string | null {
  return ms === null ? null : timestamp(ms)
}

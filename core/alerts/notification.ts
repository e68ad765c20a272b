import { timestamp } from '../clock.ts'
import { encodeId } from '../ids.ts'
import { ALERT_KINDS, type AlertType, type NotificationType } from './alert-types.ts'

/** An alert as its notifications describe it. */
export interface ToldAlert {
  id: string
  type: AlertType
  organisationId: string
  projectId: string | null
  subjectId: string
  name: string
  level: number
  summary: string
  evidence: Record<string, unknown>
  openedAtMs: number
  /** How often it has opened again since the last telling. */
  reopened: number
}

/** The body of a webhook in the form of Standard Webhooks. */
export interface Notification {
  type: NotificationType
  timestamp: string
  data: Record<string, unknown>
}

/** Says that something is wrong, at one of the levels that it has come to. */
export function openingOf(
  alert: ToldAlert,
  { level, nowMs, dashboardUrl }: { level: number; nowMs: number; dashboardUrl: string },
): Notification {
  return {
    type: alert.type,
    timestamp: timestamp(nowMs),
    data: {
      ...factsOf(alert, dashboardUrl),
      level,
      summary: alert.summary,
      advice: ALERT_KINDS[alert.type].advice,
      ...(alert.reopened > 0 && { flapping: alert.reopened }),
    },
  }
}

/** Says that all is well again; undefined where nobody needs to hear of it. */
export function recoveryOf(
  alert: ToldAlert,
  { nowMs, dashboardUrl }: { nowMs: number; dashboardUrl: string },
): Notification | undefined {
  const { recovery } = ALERT_KINDS[alert.type]
  if (recovery === null) return undefined
  return {
    type: recovery,
    timestamp: timestamp(nowMs),
    data: {
      ...factsOf(alert, dashboardUrl),
      level: 0,
      summary: RECOVERIES[alert.type](alert.name),
      closedAt: timestamp(nowMs),
    },
  }
}

const RECOVERIES: Readonly<Record<AlertType, (name: string) => string>> = {
  'destination.failing': (name) => `Destination "${name}" succeeds again.`,
  'destination.disabled': (name) => `Destination "${name}" is enabled again.`,
  'connector.offline': (name) => `Connector "${name}" is online again.`,
  'quota.threshold': (name) => `Organisation "${name}" is below 80 % of its delivery quota again.`,
  'source.rejections': (name) =>
    `Source "${name}" rejects less than a tenth of its requests again.`,
  'backlog.age': (name) => `Destination "${name}" keeps up with its deliveries again.`,
  'rotation.unused': (name) => `The rotation of source "${name}" is over.`,
}

function factsOf(alert: ToldAlert, dashboardUrl: string): Record<string, unknown> {
  const { subject } = ALERT_KINDS[alert.type]
  return {
    alertId: encodeId('alr', alert.id),
    alertType: alert.type,
    organisationId: encodeId('org', alert.organisationId),
    projectId: alert.projectId === null ? null : encodeId('prj', alert.projectId),
    subject: { id: encodeId(subject, alert.subjectId), name: alert.name },
    openedAt: timestamp(alert.openedAtMs),
    evidence: alert.evidence,
    links: { dashboard: placeOf(alert, dashboardUrl) },
  }
}

const PAGES = { dst: 'destinations', cnr: 'connectors', src: 'sources' } as const

/** Where the dashboard shows the subject. */
export function placeOf(
  { type, projectId, subjectId }: Pick<ToldAlert, 'type' | 'projectId' | 'subjectId'>,
  dashboardUrl: string,
): string {
  const { subject } = ALERT_KINDS[type]
  if (subject === 'org' || projectId === null) return `${dashboardUrl}/org/plan`
  const id = encodeId(subject, subjectId)
  return `${dashboardUrl}/p/${encodeId('prj', projectId)}/${PAGES[subject]}/${id}`
}

/** Every kind of alert. (docs/alerts.md has what each means) */
export const ALERT_TYPES = [
  'destination.failing',
  'destination.disabled',
  'connector.offline',
  'quota.threshold',
  'source.rejections',
  'backlog.age',
  'rotation.unused',
] as const

export type AlertType = (typeof ALERT_TYPES)[number]

export const RECOVERY_TYPES = [
  'destination.recovered',
  'connector.recovered',
  'quota.recovered',
  'source.recovered',
  'backlog.recovered',
] as const

/** A notification says that something is wrong, or well again. */
export type NotificationType = AlertType | (typeof RECOVERY_TYPES)[number]

interface AlertKind {
  /** The prefix of the ids of its subjects. */
  subject: 'dst' | 'cnr' | 'org' | 'src'
  /** The type of the notification that all is well again; null: its end is nobody's news. */
  recovery: (typeof RECOVERY_TYPES)[number] | null
  /** The thing to do about it. */
  advice: string
}

export const ALERT_KINDS: Readonly<Record<AlertType, AlertKind>> = {
  'destination.failing': {
    subject: 'dst',
    recovery: 'destination.recovered',
    advice: 'Look at its last attempts and repair the endpoint; then retry what failed.',
  },
  'destination.disabled': {
    subject: 'dst',
    recovery: 'destination.recovered',
    advice: 'Repair the endpoint, send a test delivery, then enable the destination.',
  },
  'connector.offline': {
    subject: 'cnr',
    recovery: 'connector.recovered',
    advice: 'Look at the log of its agent. Deliveries wait and spend no attempts meanwhile.',
  },
  'quota.threshold': {
    subject: 'org',
    recovery: 'quota.recovered',
    advice: 'Look at what counts on the page Plan, or change the plan.',
  },
  'source.rejections': {
    subject: 'src',
    recovery: 'source.recovered',
    advice: 'Look at the reasons on its page: a changed secret at the sender, or a stranger.',
  },
  'backlog.age': {
    subject: 'dst',
    recovery: 'backlog.recovered',
    advice: 'Look at how long its attempts take, and at its concurrency.',
  },
  'rotation.unused': {
    subject: 'src',
    recovery: null,
    advice: 'Give the sender the new secret, or rotate again to have more time.',
  },
}

/** A subject that is not well, as it is found. */
export interface Finding {
  type: AlertType
  organisationId: string
  /** Null when it concerns the whole organisation. */
  projectId: string | null
  subjectId: string
  /** The subject's. */
  name: string
  /** A higher one is told of although the alert is open already. */
  level: number
  /** A sentence for people. */
  summary: string
  evidence: Record<string, unknown>
}

export function alertType(text: string): AlertType {
  const found = ALERT_TYPES.find((type) => type === text)
  if (found === undefined) throw new Error(`There is no alert of type ${text}`)
  return found
}

import type { Alert } from '../alerts.ts'

/** How the subject of an open alert is: well, or gone, so that nobody needs to hear of it. */
export type AlertStanding = 'well' | 'ended'

/** The alert of one of its rows, with what the row says; a subject that is neither is left out. */
export interface StandingRow {
  id: string
  standing: AlertStanding | null
}

export function standingsOf(rows: readonly StandingRow[]): Map<string, AlertStanding> {
  return new Map(rows.flatMap(({ id, standing }) => (standing === null ? [] : [[id, standing]])))
}

/** Columns of alerts for a statement that joins them to their subjects. */
export function alertColumns(alerts: readonly Pick<Alert, 'id' | 'subjectId'>[]): {
  ids: string[]
  subjectIds: string[]
} {
  return { ids: alerts.map(({ id }) => id), subjectIds: alerts.map(({ subjectId }) => subjectId) }
}

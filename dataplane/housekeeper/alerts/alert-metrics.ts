import type { Registry } from 'prom-client'

import {
  ALERT_TYPES,
  RECOVERY_TYPES,
  type NotificationType,
} from '../../../core/alerts/alert-types.ts'
import { countsOf, gaugesOf } from '../../../core/metrics/instruments.ts'

/** Open alerts as the last look found them; none from a standby. */
export function measureAlerts(
  registry: Registry,
  open: () => ReadonlyMap<string, number> | undefined,
): void {
  const named = { name: 'postern_alerts_open', help: 'Open alerts, by type', label: 'type' }
  gaugesOf(registry, named, () => {
    const counts = open()
    return counts && Object.fromEntries(ALERT_TYPES.map((type) => [type, counts.get(type) ?? 0]))
  })
}

/** Gives the counts of notifications, which whoever tells adds to. */
export function countTold(registry: Registry): Record<NotificationType, number> {
  return countsOf(registry, {
    name: 'postern_alert_notifications_total',
    help: 'Notifications of alerts that were stored to be sent, by type',
    label: 'type',
    values: [...ALERT_TYPES, ...RECOVERY_TYPES],
  })
}

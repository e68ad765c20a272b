import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { callAlerts, type AlertList } from '../api/alerts.ts'
import { Icon } from '../parts/icon.tsx'

const EVERY_MS = 30_000

/** How many alerts are open, and the way to them. */
export function Bell({ projectId }: { projectId: string }) {
  const { data } = useQuery({
    queryKey: [projectId, 'alerts', 'count'],
    queryFn: () => callAlerts<AlertList>(projectId, 'GET', '?state=open&limit=1'),
    refetchInterval: EVERY_MS,
  })
  const open = data?.openCount ?? 0
  return (
    <Link
      to="/p/$projectId/alerts"
      params={{ projectId }}
      className="button"
      aria-label={open === 0 ? 'Alerts, none open' : `Alerts, ${open} open`}
    >
      <Icon name="bell" />
      {open > 0 && <span className="mono">{open}</span>}
    </Link>
  )
}

import { useQuery } from '@tanstack/react-query'

import { useProject } from '../../session/project.tsx'
import { counted } from '../words/numbers.ts'
import { DAY_MS } from '../words/spans.ts'
import { Time } from '../words/time.tsx'
import { timeOfId } from './time-of-id.ts'

/** Why an event or delivery that was there once is gone: its id says when it was made. */
export function Purged({ id }: { id: string }) {
  const { api, projectId } = useProject()
  const { data } = useQuery({
    queryKey: [projectId, 'plan'],
    queryFn: () => api.getPlan(),
  })
  const madeMs = timeOfId(id)
  if (data === undefined || madeMs === undefined) return null
  const { retentionDays } = data.entitlements
  const purgedMs = madeMs + retentionDays * DAY_MS
  if (purgedMs > Date.now()) return null
  return (
    <p>
      Its id is of <Time at={new Date(madeMs).toISOString()} />, and the plan keeps events for{' '}
      {counted(retentionDays, 'day')}: whatever had it was purged by{' '}
      <Time at={new Date(purgedMs).toISOString()} />.
    </p>
  )
}

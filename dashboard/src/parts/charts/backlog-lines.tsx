import type { Schemas } from '../../api/client.ts'
import { span, whole } from '../words/numbers.ts'
import { timeText } from '../words/time.tsx'
import { Lines } from './lines.tsx'

/** How much waited, and how old the oldest of it was: few that are old are worse than many that have just come. */
export function BacklogLines({ buckets }: { buckets: readonly Schemas['BacklogBucket'][] }) {
  const most = buckets.toSorted((one, other) => other.waiting - one.waiting)[0]
  if (most === undefined || most.waiting === 0) {
    return <p className="muted">Nothing waited in this range.</p>
  }
  const ages = buckets.map(({ oldestPendingAgeSeconds }) => oldestPendingAgeSeconds)
  const oldest = Math.max(...ages)
  const lines = [
    {
      name: 'waiting',
      stroke: 'plain' as const,
      values: buckets.map(({ waiting }) => waiting),
      highest: Math.max(10, most.waiting),
      said: `${whole(most.waiting)} at most`,
    },
    {
      name: 'age of the oldest',
      stroke: 'dashed' as const,
      values: ages,
      highest: Math.max(60, oldest),
      said: `${span(oldest * 1000)} at most`,
    },
  ]
  return <Lines label="Backlog" lines={lines} note={`most from ${timeText(most.start)} on`} />
}

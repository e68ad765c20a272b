import { useQuery } from '@tanstack/react-query'
import { Navigate, useNavigate, useRouterState, useSearch } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { BacklogLines } from '../../parts/charts/backlog-lines.tsx'
import { Bars, type Bar } from '../../parts/charts/bars.tsx'
import { LatencyLines } from '../../parts/charts/latency-lines.tsx'
import { Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { timeText } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import { Attention } from './attention.tsx'
import { changesIn, useChanges } from './changes.ts'
import { Figures } from './figures.tsx'
import { useBacklog, useCounts } from './queries.ts'
import { RangeChoice } from './range-choice.tsx'
import { bucketMs, spanOf, type Span } from './range.ts'
import { Talkers } from './talkers.tsx'

type Bucket = Schemas['DashboardBucket']

export function Overview() {
  const search = useSearch({ from: '/inside/p/$projectId/' })
  const span = spanOf(search)
  const { api, projectId } = useProject()
  const counts = useCounts(span)
  // These are asked for beside the counts, not after them.
  const backlog = useBacklog(span)
  const changes = useChanges()
  const presence = useQuery({
    queryKey: [projectId, 'has-any'],
    queryFn: () => api.hasAnyEvent(),
    refetchOnMount: 'always',
  })
  // Whoever has gone on to another page meanwhile is not led away from it.
  const isStaying = useRouterState({
    select: ({ location, resolvedLocation }) => location.pathname === resolvedLocation?.pathname,
  })
  // An answer of an earlier visit may be from before the first event.
  if (isStaying && presence.isFetchedAfterMount && presence.data?.hasAny === false) {
    return <Navigate to="/p/$projectId/start" params={{ projectId }} replace />
  }
  return (
    <>
      <header>
        <PageTitle>Overview</PageTitle>
        <RangeChoice span={span} />
      </header>
      <Figures span={span} counts={counts.data} />
      <Attention />
      <Loaded query={counts} noun="The overview">
        {(buckets) => (
          <div className="columns charts">
            <section className="section">
              <h2>Outcomes</h2>
              <Outcomes buckets={buckets} span={span} changes={changes} />
            </section>
            <section className="section">
              <h2>How long attempts take</h2>
              <LatencyLines buckets={buckets} />
            </section>
            <section className="section">
              <h2>Waiting deliveries</h2>
              <Loaded query={backlog} noun="The backlog">
                {(waiting) => <BacklogLines buckets={waiting} />}
              </Loaded>
            </section>
          </div>
        )}
      </Loaded>
      <Talkers span={span} />
    </>
  )
}

function Outcomes({
  buckets,
  span,
  changes,
}: {
  buckets: readonly Bucket[]
  span: Span
  changes: ReturnType<typeof useChanges>
}) {
  const { projectId } = useProject()
  const navigate = useNavigate()
  const boundsOfBars = (first: number, last: number) => {
    const [from, end] = [buckets[first]?.start, buckets[last]?.start]
    if (from === undefined || end === undefined) return undefined
    const to = new Date(Date.parse(end) + bucketMs(span.granularity)).toISOString()
    return { from, to }
  }
  const open = (first: number, last: number) => {
    const search = boundsOfBars(first, last)
    if (search === undefined) return
    void navigate({ to: '/p/$projectId/events', params: { projectId }, search })
  }
  const narrow = (first: number, last: number) => {
    const search = boundsOfBars(first, last)
    if (search === undefined) return
    void navigate({ to: '/p/$projectId', params: { projectId }, search })
  }
  return (
    <Bars
      label={`Deliveries of ${span.words}`}
      overlayName="retries"
      bars={buckets.map((bucket) => {
        const startMs = Date.parse(bucket.start)
        return barOf(bucket, changesIn(changes, startMs, startMs + bucketMs(span.granularity)))
      })}
      open={open}
      narrow={narrow}
    />
  )
}

function barOf({ start, deliveries, retried }: Bucket, mark: string | undefined): Bar {
  return {
    label: timeText(start),
    parts: [
      { name: 'succeeded', tone: 'good', value: deliveries.succeeded },
      { name: 'failed', tone: 'bad', value: deliveries.failed },
    ],
    overlay: retried,
    mark,
  }
}

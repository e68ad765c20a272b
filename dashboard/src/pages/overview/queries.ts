import { keepPreviousData, useQuery } from '@tanstack/react-query'

import { useProject } from '../../shell/project.tsx'
import { boundsOf, type Span } from './range.ts'

const AGAIN_MS = 5000

/** Roll-ups alone: the page costs the same with ten events and with ten million. */
export function useCounts(span: Span) {
  const { api, projectId } = useProject()
  const { granularity } = span
  return useQuery({
    queryKey: [projectId, 'counts', span],
    queryFn: () => api.getDashboard({ granularity, ...boundsOf(span) }).then(({ data }) => data),
    refetchInterval: AGAIN_MS,
    placeholderData: keepPreviousData,
  })
}

/** How much waited in each span, and how old it was. */
export function useBacklog(span: Span) {
  const { api, projectId } = useProject()
  const { granularity } = span
  return useQuery({
    queryKey: [projectId, 'backlog', span],
    queryFn: () => api.getBacklog({ granularity, ...boundsOf(span) }).then(({ data }) => data),
    refetchInterval: AGAIN_MS * 2,
    placeholderData: keepPreviousData,
  })
}

export function useCountsBySource(span: Span) {
  const { api, projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'counts-by-source', span],
    queryFn: () =>
      api
        .getDashboard({
          granularity: sourceGranularity(span),
          groupBy: 'source',
          ...boundsOf(span),
        })
        .then(({ data }) => data),
    refetchInterval: AGAIN_MS * 2,
    placeholderData: keepPreviousData,
  })
}

/** Few buckets suffice for a sum, as long as they do not reach far past the span. */
function sourceGranularity({ ms, granularity, fixed }: Span): Span['granularity'] {
  if (fixed !== undefined) return granularity
  return ms > 24 * 3_600_000 ? 'day' : 'hour'
}

export function useWaiting() {
  const { api, projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'waiting'],
    queryFn: () => api.getWaitingDeliveries(),
    refetchInterval: AGAIN_MS,
  })
}

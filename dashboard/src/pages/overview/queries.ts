import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'

import { openApi } from '../../api/client.ts'
import { useProject } from '../../session/project.tsx'
import { queryClient } from '../../session/query-client.ts'
import { boundsOf, spanOf, type Span } from './range.ts'

const AGAIN_MS = 5000

/** Roll-ups alone: the page costs the same with ten events and with ten million. */
function countsQuery(projectId: string, span: Span) {
  const { granularity } = span
  return queryOptions({
    queryKey: [projectId, 'counts', span],
    queryFn: () =>
      openApi(projectId)
        .getDashboard({ granularity, ...boundsOf(span) })
        .then(({ data }) => data),
    refetchInterval: AGAIN_MS,
  })
}

/** How much waited in each span, and how old it was. */
function backlogQuery(projectId: string, span: Span) {
  const { granularity } = span
  return queryOptions({
    queryKey: [projectId, 'backlog', span],
    queryFn: () =>
      openApi(projectId)
        .getBacklog({ granularity, ...boundsOf(span) })
        .then(({ data }) => data),
    refetchInterval: AGAIN_MS * 2,
  })
}

export function useCounts(span: Span) {
  const { projectId } = useProject()
  return useQuery({ ...countsQuery(projectId, span), placeholderData: keepPreviousData })
}

export function useBacklog(span: Span) {
  const { projectId } = useProject()
  return useQuery({ ...backlogQuery(projectId, span), placeholderData: keepPreviousData })
}

/** Asks for the counts while the page is still being made. */
export function beginOverview(projectId: string, search: Parameters<typeof spanOf>[0]): void {
  const span = spanOf(search)
  void queryClient.prefetchQuery(countsQuery(projectId, span))
  void queryClient.prefetchQuery(backlogQuery(projectId, span))
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

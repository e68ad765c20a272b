import { keepPreviousData, useQuery } from '@tanstack/react-query'

import { read } from '../../api/client.ts'
import type { Range } from '../../routes/values.ts'
import { useProject } from '../../shell/project.tsx'
import { SPANS } from './range.ts'

const AGAIN_MS = 5000

/** Roll-ups alone: the page costs the same with ten events and with ten million. */
export function useCounts(range: Range) {
  const { api, projectId } = useProject()
  const { ms, granularity } = SPANS[range]
  return useQuery({
    queryKey: [projectId, 'counts', range],
    queryFn: () =>
      read(
        api.GET('/stats/dashboard', {
          params: { query: { granularity, from: new Date(Date.now() - ms).toISOString() } },
        }),
      ).then(({ data }) => data),
    refetchInterval: AGAIN_MS,
    placeholderData: keepPreviousData,
  })
}

export function useCountsBySource(range: Range) {
  const { api, projectId } = useProject()
  const { ms } = SPANS[range]
  return useQuery({
    queryKey: [projectId, 'counts-by-source', range],
    queryFn: () =>
      read(
        api.GET('/stats/dashboard', {
          params: {
            query: {
              granularity: ms > 24 * 3_600_000 ? 'day' : 'hour',
              groupBy: 'source',
              from: new Date(Date.now() - ms).toISOString(),
            },
          },
        }),
      ).then(({ data }) => data),
    refetchInterval: AGAIN_MS * 2,
    placeholderData: keepPreviousData,
  })
}

export function useWaiting() {
  const { api, projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'waiting'],
    queryFn: () => read(api.GET('/deliveries/stats')),
    refetchInterval: AGAIN_MS,
  })
}

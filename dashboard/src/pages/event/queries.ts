import { queryOptions } from '@tanstack/react-query'

import { openApi } from '../../api/client.ts'
import { queryClient } from '../../session/query-client.ts'
import { isSettled } from '../../timeline/lanes.ts'

const AGAIN_MS = 2000

export function eventQuery(projectId: string, eventId: string) {
  return queryOptions({
    queryKey: [projectId, 'event', eventId],
    queryFn: () => openApi(projectId).getEvent({ id: eventId }),
    staleTime: Infinity,
  })
}

export function timelineQuery(projectId: string, eventId: string) {
  return queryOptions({
    queryKey: [projectId, 'timeline', eventId],
    queryFn: () => openApi(projectId).getEventTimeline({ id: eventId }),
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isSettled(data) ? false : AGAIN_MS,
  })
}

/** Asks for the event while its page is still being made. */
export function beginEvent(projectId: string, eventId: string): void {
  void queryClient.prefetchQuery(eventQuery(projectId, eventId))
  void queryClient.prefetchQuery(timelineQuery(projectId, eventId))
}

import { keepPreviousData, useInfiniteQuery, useQueries } from '@tanstack/react-query'

import { read, type Schemas } from '../../api/client.ts'
import type { EventSearch } from '../../routes/searches.ts'
import { useProject } from '../../shell/project.tsx'

type EventSummary = Schemas['EventSummary']
type Delivery = Schemas['Delivery']

const PAGE = 50
/** Pages of deliveries that are read for one page of events. */
const DELIVERY_PAGES_MAX = 3
const FINAL = new Set<Schemas['DeliveryStatus']>(['succeeded', 'failed', 'cancelled'])
const AGAIN_MS = 3000

/** The filter as the API takes it. */
export function eventQuery({ status, source, q, from, to }: EventSearch) {
  return {
    ...(status === undefined ? {} : { status }),
    ...(source === undefined ? {} : { sourceId: source }),
    ...(q === undefined ? {} : { search: q }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

export function useEvents(search: EventSearch) {
  const { api, projectId } = useProject()
  const filter = eventQuery(search)
  return useInfiniteQuery({
    queryKey: [projectId, 'events', filter],
    queryFn: ({ pageParam }) =>
      read(
        api.GET('/events', {
          params: {
            query: { ...filter, limit: PAGE, ...(pageParam === null ? {} : { cursor: pageParam }) },
          },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  })
}

/** The deliveries of listed events by event: read by the span of time of each page, which is few requests. */
export function useDeliveriesOf(
  pages: readonly (readonly EventSummary[])[],
): Map<string, Delivery[]> {
  const { api, projectId } = useProject()
  const spans = pages.flatMap((page) => spanOf(page))
  const answers = useQueries({
    queries: spans.map((query) => ({
      queryKey: [projectId, 'deliveries-of-events', query],
      queryFn: async () => {
        const found: Delivery[] = []
        let cursor: string | null = null
        for (let count = 0; count < DELIVERY_PAGES_MAX; count++) {
          const answer: Schemas['DeliveryList'] = await read(
            api.GET('/deliveries', {
              params: { query: { ...query, limit: 100, ...(cursor === null ? {} : { cursor }) } },
            }),
          )
          found.push(...answer.data)
          cursor = answer.nextCursor
          if (cursor === null) break
        }
        return found
      },
      placeholderData: keepPreviousData,
      refetchInterval: ({ state }: { state: { data: Delivery[] | undefined } }) =>
        state.data?.some(({ status }) => !FINAL.has(status)) === true ? AGAIN_MS : false,
    })),
  })
  const all = answers.flatMap(({ data }) => data ?? [])
  return Map.groupBy(all, ({ eventId }) => eventId ?? '')
}

function spanOf(page: readonly EventSummary[]): { from: string; to: string }[] {
  const newest = page.at(0)
  const oldest = page.at(-1)
  if (newest === undefined || oldest === undefined) return []
  // A delivery is stored with its event; a second covers the rounding of both times.
  const to = new Date(Date.parse(newest.createdAt) + 1000).toISOString()
  return [{ from: oldest.createdAt, to }]
}

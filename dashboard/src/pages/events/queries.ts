import { keepPreviousData, useInfiniteQuery, useQueries } from '@tanstack/react-query'

import type { Api, Schemas } from '../../api/client.ts'
import type { EventSearch } from '../../routes/searches.ts'
import { useProject } from '../../session/project.tsx'

type EventSummary = Schemas['EventSummary']
type Delivery = Schemas['Delivery']

const PAGE = 50
/** Pages of deliveries that are read for one page of events. */
const DELIVERY_PAGES_MAX = 3
/** Newest events of a page whose deliveries are read: a live one grows. */
const EVENTS_MAX = 100
const FINAL = new Set<Schemas['DeliveryStatus']>(['succeeded', 'failed', 'cancelled'])
/**
 * How soon the deliveries of a page that still change are read again: the newest page, then those below it. Pages further
 * down are left in peace, or a long list would take all requests that a session has.
 */
const AGAIN_MS = [3000, 15_000, 15_000, 15_000] as const
/** A delivery is stored with its event; a second covers the rounding of both times. */
const ROUNDING_MS = 1000

/** The filter as the API takes it. */
export function eventQuery({ status, source, type, q, from, to }: EventSearch) {
  return {
    ...(status === undefined ? {} : { status }),
    ...(source === undefined ? {} : { sourceId: source }),
    ...(type === undefined ? {} : { eventType: type }),
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
      api.listEvents({
        ...filter,
        limit: PAGE,
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  })
}

interface Read {
  deliveries: Delivery[]
  /** Where reading ended before all were read: of events from then and before some may be missing. */
  endedAt: string | undefined
}

/** The deliveries of listed events: read by the span of time of each page, which is few requests. */
export function useDeliveriesOf(pages: readonly (readonly EventSummary[])[]): {
  byEvent: Map<string, Delivery[]>
  /** Events of which not all deliveries were read, for a page has more than are read for it. */
  unread: Set<string>
} {
  const { api, projectId } = useProject()
  const listed = pages
    .filter((page) => page.length > 0)
    .map((page) => ({ read: page.slice(0, EVENTS_MAX), rest: page.slice(EVENTS_MAX) }))
  const answers = useQueries({
    queries: listed
      .map((page) => spanOf(page.read))
      .map((query, index) => ({
        queryKey: [projectId, 'deliveries-of-events', query],
        queryFn: () => readDeliveries(api, query),
        placeholderData: keepPreviousData,
        refetchInterval: ({ state }: { state: { data: Read | undefined } }) =>
          state.data?.deliveries.some(({ status }) => !FINAL.has(status)) === true
            ? (AGAIN_MS[index] ?? false)
            : false,
      })),
  })
  const all = answers.flatMap(({ data }) => data?.deliveries ?? [])
  const unread = listed.flatMap((page, index) => [
    ...unreadOf(page.read, answers[index]?.data?.endedAt),
    ...page.rest.map(({ id }) => id),
  ])
  return { byEvent: Map.groupBy(all, ({ eventId }) => eventId ?? ''), unread: new Set(unread) }
}

async function readDeliveries(api: Api, query: { from: string; to: string }): Promise<Read> {
  const deliveries: Delivery[] = []
  let cursor: string | null = null
  for (let count = 0; count < DELIVERY_PAGES_MAX; count++) {
    const answer: Schemas['DeliveryList'] = await api.listDeliveries({
      ...query,
      limit: 100,
      ...(cursor === null ? {} : { cursor }),
    })
    deliveries.push(...answer.data)
    cursor = answer.nextCursor
    if (cursor === null) return { deliveries, endedAt: undefined }
  }
  return { deliveries, endedAt: deliveries.at(-1)?.createdAt }
}

/** Lists are newest first. */
function unreadOf(page: readonly EventSummary[], endedAt: string | undefined): string[] {
  if (endedAt === undefined) return []
  const endedMs = Date.parse(endedAt) + ROUNDING_MS
  return page.filter(({ createdAt }) => Date.parse(createdAt) <= endedMs).map(({ id }) => id)
}

function spanOf(page: readonly EventSummary[]): { from: string; to: string } {
  const [newest] = page
  const oldest = page.at(-1)
  const to = new Date(Date.parse(newest?.createdAt ?? '') + ROUNDING_MS).toISOString()
  return { from: oldest?.createdAt ?? to, to }
}

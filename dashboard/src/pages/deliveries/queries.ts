import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'

import type { Schemas } from '../../api/client.ts'
import type { DeliverySearch } from '../../routes/searches.ts'
import { useProject } from '../../session/project.tsx'

const PAGE = 50
const AGAIN_MS = 5000

/** The filter as the API takes it. */
function deliveryQuery(search: DeliverySearch) {
  const { status, source, destination, connection, event, error, code, from, to } = search
  return {
    ...(status === undefined ? {} : { status }),
    ...(source === undefined ? {} : { sourceId: source }),
    ...(destination === undefined ? {} : { destinationId: destination }),
    ...(connection === undefined ? {} : { connectionId: connection }),
    ...(event === undefined ? {} : { eventId: event }),
    ...(error === undefined ? {} : { errorCode: error }),
    ...(code === undefined ? {} : { responseStatus: code }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  }
}

export function useDeliveries(search: DeliverySearch) {
  const { api, projectId } = useProject()
  const filter = deliveryQuery(search)
  return useInfiniteQuery({
    queryKey: [projectId, 'deliveries', filter],
    queryFn: ({ pageParam }) =>
      api.listDeliveries({
        ...filter,
        limit: PAGE,
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    // A list that is read far down is left in peace.
    refetchInterval: ({ state: { data } }) => (data?.pages.length === 1 ? AGAIN_MS : false),
  })
}

/** The same filter as the body of an operation. */
export function operationFilter(search: DeliverySearch): Schemas['OperationFilter'] {
  return deliveryQuery(search)
}

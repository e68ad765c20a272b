import { useQueryClient, type InfiniteData } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { useKeys } from '../../parts/keys.ts'
import { useProject } from '../../session/project.tsx'

/** The events before and after in the list that the reader came from. */
export function Neighbours({ eventId }: { eventId: string }) {
  const { projectId } = useProject()
  const client = useQueryClient()
  const navigate = useNavigate()
  const lists = client.getQueriesData<InfiniteData<Schemas['EventList']>>({
    queryKey: [projectId, 'events'],
  })
  const ids = lists
    .map(([, data]) => data?.pages.flatMap((page) => page.data.map(({ id }) => id)) ?? [])
    .find((list) => list.includes(eventId))
  const at = ids?.indexOf(eventId) ?? -1
  const before = at > 0 ? ids?.[at - 1] : undefined
  const after = at < 0 ? undefined : ids?.[at + 1]
  const go = (id: string | undefined) => () => {
    if (id === undefined) return
    void navigate({ to: '/p/$projectId/events/$eventId', params: { projectId, eventId: id } })
  }
  useKeys({ '[': go(before), ']': go(after) })
  return (
    <>
      {before !== undefined && <Step id={before} name="Newer" />}
      {after !== undefined && <Step id={after} name="Older" />}
    </>
  )
}

function Step({ id, name }: { id: string; name: string }) {
  const { projectId } = useProject()
  return (
    <Link
      className="button quiet"
      to="/p/$projectId/events/$eventId"
      params={{ projectId, eventId: id }}
    >
      {name}
    </Link>
  )
}

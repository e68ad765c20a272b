import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'

import { NoMatches } from '../../parts/lists/no-matches.tsx'
import { Empty } from '../../parts/states.tsx'
import { eventSearch, type EventSearch } from '../../routes/searches.ts'
import { useProject } from '../../session/project.tsx'

/** Nothing yet is another matter than nothing that matches. */
export function NoEvents({ search }: { search: EventSearch }) {
  const { api, projectId } = useProject()
  const navigate = useNavigate()
  const { data } = useQuery({
    queryKey: [projectId, 'has-any'],
    queryFn: () => api.hasAnyEvent(),
    refetchInterval: ({ state }) => (state.data?.hasAny === true ? false : 3000),
  })
  if (data?.hasAny === false) {
    return (
      <Empty title="No event has arrived yet">
        <p>A source gives you an address. All that is posted to it is stored and shown here.</p>
        <Link to="/p/$projectId/start" params={{ projectId }} className="button main">
          Receive the first webhook
        </Link>
      </Empty>
    )
  }
  return (
    <NoMatches
      title="No events match"
      filters={search}
      change={(filters) =>
        void navigate({
          to: '/p/$projectId/events',
          params: { projectId },
          search: eventSearch(filters),
        })
      }
      all={
        <Link to="/p/$projectId/events" params={{ projectId }} className="button">
          Show all events
        </Link>
      }
    />
  )
}

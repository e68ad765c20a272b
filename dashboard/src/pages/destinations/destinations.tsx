import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { LastDay, useLastDay } from '../../parts/charts/last-day.tsx'
import { NamedList } from '../../parts/lists/named-list.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../session/project.tsx'
import { paceOf } from './tabs/words.ts'

export function Destinations() {
  const { api, projectId } = useProject()
  const lastDay = useLastDay('destination')
  const destinations = useQuery({
    queryKey: [projectId, 'destinations'],
    queryFn: () => api.listDestinations({ limit: 100, sortBy: 'name', sortDir: 'asc' }),
    refetchInterval: 10_000,
  })
  return (
    <NamedList
      title="Destinations"
      query={destinations}
      create={
        <Link to="/p/$projectId/destinations/new" params={{ projectId }} className="button main">
          New destination
        </Link>
      }
      empty={{
        title: 'No destination yet',
        text: 'A destination is where deliveries go: a public URL, or one in a private network behind a connector.',
      }}
      columns={['Destination', 'Health', 'Last 24 hours', 'Reached', 'Pace', 'URL']}
      cells={(destination) => (
        <>
          <td>
            <Link
              to="/p/$projectId/destinations/$destinationId"
              params={{ projectId, destinationId: destination.id }}
            >
              {destination.name}
            </Link>
          </td>
          <td data-label="Health">
            <StatusMark status={destination.isEnabled ? destination.health : 'disabled'} />
          </td>
          <td data-label="Last 24 hours">
            <LastDay buckets={lastDay.get(destination.id)} />
          </td>
          <td data-label="Reached">
            {destination.mode === 'public' ? 'directly' : 'through a connector'}
          </td>
          <td data-label="Pace">{paceOf(destination)}</td>
          <td data-label="URL" className="mono">
            {destination.url}
          </td>
        </>
      )}
    />
  )
}

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { LastDay, useLastDay } from '../../parts/charts/last-day.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../shell/project.tsx'
import { paceOf } from './words.ts'

export function Destinations() {
  const { api, projectId } = useProject()
  const lastDay = useLastDay('destination')
  const destinations = useQuery({
    queryKey: [projectId, 'destinations'],
    queryFn: () => api.listDestinations({ limit: 100, sortBy: 'name', sortDir: 'asc' }),
    refetchInterval: 10_000,
  })
  const create = (
    <Link to="/p/$projectId/destinations/new" params={{ projectId }} className="button main">
      New destination
    </Link>
  )
  return (
    <>
      <header>
        <PageTitle>Destinations</PageTitle>
        <div className="buttons">{create}</div>
      </header>
      <Loaded query={destinations} noun="The list">
        {({ data, nextCursor }) =>
          data.length === 0 ? (
            <Empty title="No destination yet">
              <p>
                A destination is where deliveries go: a public URL, or one in a private network
                behind a connector.
              </p>
              {create}
            </Empty>
          ) : (
            <>
              <table className="table cards">
                <thead>
                  <tr>
                    <th>Destination</th>
                    <th>Health</th>
                    <th>Last 24 hours</th>
                    <th>Reached</th>
                    <th>Pace</th>
                    <th>URL</th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((destination) => (
                    <tr key={destination.id}>
                      <td>
                        <Link
                          to="/p/$projectId/destinations/$destinationId"
                          params={{ projectId, destinationId: destination.id }}
                        >
                          {destination.name}
                        </Link>
                      </td>
                      <td data-label="Health">
                        <StatusMark
                          status={destination.isEnabled ? destination.health : 'disabled'}
                        />
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
                    </tr>
                  ))}
                </tbody>
              </table>
              {nextCursor !== null && (
                <p className="muted">The first 100 by name are shown; Ctrl K opens others by id.</p>
              )}
            </>
          )
        }
      </Loaded>
    </>
  )
}

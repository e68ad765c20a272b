import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { LastDay, useLastDay } from '../../parts/charts/last-day.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useNames } from '../../parts/names/names.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../shell/project.tsx'

/** Each row is a lane: source, connection, destination. */
export function Connections() {
  const { api, projectId } = useProject()
  const { nameOf } = useNames()
  const lastDay = useLastDay('connection')
  const connections = useQuery({
    queryKey: [projectId, 'connections'],
    queryFn: () => api.listConnections({ limit: 100, sortBy: 'name', sortDir: 'asc' }),
    refetchInterval: 10_000,
  })
  const create = (
    <Link to="/p/$projectId/connections/new" params={{ projectId }} className="button main">
      New connection
    </Link>
  )
  return (
    <>
      <header>
        <PageTitle>Connections</PageTitle>
        <div className="buttons">{create}</div>
      </header>
      <Loaded query={connections} noun="The list">
        {({ data, nextCursor }) =>
          data.length === 0 ? (
            <Empty title="No connection yet">
              <p>
                A connection sends the events of a source, or those a filter lets pass, to a
                destination.
              </p>
              {create}
            </Empty>
          ) : (
            <>
              <table className="table cards">
                <thead>
                  <tr>
                    <th>Connection</th>
                    <th>Status</th>
                    <th>Last 24 hours</th>
                    <th>Way</th>
                    <th>Filter</th>
                  </tr>
                </thead>
                <tbody>
                  {data.map(({ id, name, isEnabled, sourceId, destinationId, filter }) => (
                    <tr key={id}>
                      <td>
                        <Link
                          to="/p/$projectId/connections/$connectionId"
                          params={{ projectId, connectionId: id }}
                        >
                          {name}
                        </Link>
                      </td>
                      <td data-label="Status">
                        <StatusMark status={isEnabled ? 'enabled' : 'disabled'} />
                      </td>
                      <td data-label="Last 24 hours">
                        <LastDay buckets={lastDay.get(id)} />
                      </td>
                      <td data-label="Way">
                        <span>
                          {nameOf(sourceId)} <Icon name="arrow" /> {nameOf(destinationId)}
                        </span>
                      </td>
                      <td data-label="Filter" className="muted">
                        {filter === null ? 'everything passes' : Object.keys(filter).join(', ')}
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

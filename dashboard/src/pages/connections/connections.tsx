import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { LastDay, useLastDay } from '../../parts/charts/last-day.tsx'
import { Icon } from '../../parts/icon.tsx'
import { NamedList } from '../../parts/lists/named-list.tsx'
import { useNames } from '../../parts/names/names.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../session/project.tsx'

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
  return (
    <NamedList
      title="Connections"
      query={connections}
      create={
        <Link to="/p/$projectId/connections/new" params={{ projectId }} className="button main">
          New connection
        </Link>
      }
      empty={{
        title: 'No connection yet',
        text: 'A connection sends the events of a source, or those a filter lets pass, to a destination.',
      }}
      columns={['Connection', 'Status', 'Last 24 hours', 'Way', 'Filter']}
      cells={({ id, name, isEnabled, sourceId, destinationId, filter }) => (
        <>
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
        </>
      )}
    />
  )
}

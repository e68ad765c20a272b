import { Link } from '@tanstack/react-router'

import type { Current } from './current.ts'

const PROJECT = [
  ['/p/$projectId', 'Overview'],
  ['/p/$projectId/events', 'Events'],
  ['/p/$projectId/deliveries', 'Deliveries'],
  ['/p/$projectId/sources', 'Sources'],
  ['/p/$projectId/destinations', 'Destinations'],
  ['/p/$projectId/connections', 'Connections'],
  ['/p/$projectId/connectors', 'Connectors'],
  ['/p/$projectId/operations', 'Operations'],
  ['/p/$projectId/alerts', 'Alerts'],
] as const

const ORGANISATION = [
  ['/org/$organisationId/projects', 'Projects'],
  ['/org/$organisationId/members', 'Members'],
  ['/org/$organisationId/keys', 'Keys'],
  ['/org/$organisationId/agents', 'Agents'],
  ['/org/$organisationId/plan', 'Plan'],
  ['/org/$organisationId/audit', 'Audit'],
] as const

export function Rail({ current }: { current: Current | undefined }) {
  return (
    <nav className="rail" aria-label="Pages">
      {current !== undefined && (
        <>
          {PROJECT.map(([to, name]) => (
            <Link
              key={to}
              to={to}
              params={{ projectId: current.project.id }}
              activeOptions={{ exact: to === '/p/$projectId', includeSearch: false }}
            >
              {name}
            </Link>
          ))}
          <span className="of">{current.organisation.name}</span>
          {ORGANISATION.map(([to, name]) => (
            <Link key={to} to={to} params={{ organisationId: current.organisation.id }}>
              {name}
            </Link>
          ))}
        </>
      )}
    </nav>
  )
}

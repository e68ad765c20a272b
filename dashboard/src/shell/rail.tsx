import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

import type { Current } from '../session/current.ts'

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
  ['/org/$organisationId/settings', 'Settings'],
] as const

export function Rail({ current }: { current: Current | undefined }) {
  const nav = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  // On a narrow screen it is a strip that scrolls.
  useEffect(() => {
    const active = nav.current?.querySelector('[aria-current="page"]')
    if (nav.current === null || !(active instanceof HTMLElement)) return
    nav.current.scrollLeft = active.offsetLeft - (nav.current.clientWidth - active.clientWidth) / 2
  }, [pathname, current])
  return (
    <nav ref={nav} className="rail" aria-label="Pages">
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

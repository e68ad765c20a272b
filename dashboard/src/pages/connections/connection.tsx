import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { formKey } from '../../parts/forms/form-key.ts'
import { useAction } from '../../parts/forms/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useNames } from '../../parts/names/names.ts'
import { PlaceTabs } from '../../parts/place-tabs.tsx'
import { ActionFault, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../session/project.tsx'
import { ConnectionSettings } from './connection-settings.tsx'
import { FilterDebugger } from './filter/filter-debugger.tsx'

const TABS = [
  ['filter', 'Filter'],
  ['settings', 'Settings'],
] as const

export function ConnectionPage() {
  const from = '/inside/p/$projectId/connections/$connectionId'
  const { connectionId } = useParams({ from })
  const { tab: named, event } = useSearch({ from })
  const { api, projectId } = useProject()
  const connection = useQuery({
    queryKey: [projectId, 'connection', connectionId],
    queryFn: () => api.getConnection({ id: connectionId }),
  })
  const tab = TABS.find(([name]) => name === named)?.[0] ?? 'filter'
  return (
    <Loaded query={connection} noun="The connection">
      {(found) => (
        <>
          <Header connection={found} />
          <PlaceTabs label="Parts of the connection" tabs={TABS} shown={tab} />
          {tab === 'filter' && (
            <FilterDebugger
              key={formKey(found.id, found.filter)}
              connection={found}
              eventId={event}
            />
          )}
          {tab === 'settings' && (
            <ConnectionSettings
              key={formKey(found.id, found.name, found.sourceId, found.destinationId)}
              connection={found}
            />
          )}
        </>
      )}
    </Loaded>
  )
}

function Header({ connection }: { connection: Schemas['Connection'] }) {
  const { api, projectId } = useProject()
  const { nameOf } = useNames()
  const client = useQueryClient()
  const { id, isEnabled, sourceId, destinationId } = connection
  const toggle = useAction(
    () => api.toggleConnection({ id, body: { isEnabled: !isEnabled } }),
    () => void client.invalidateQueries({ queryKey: [projectId] }),
  )
  return (
    <>
      <header>
        <div>
          <PageTitle>{connection.name}</PageTitle>
          <p className="tags muted">
            <StatusMark status={isEnabled ? 'enabled' : 'disabled'} />
            <span>
              <Link to="/p/$projectId/sources/$sourceId" params={{ projectId, sourceId }}>
                {nameOf(sourceId)}
              </Link>{' '}
              <Icon name="arrow" />{' '}
              <Link
                to="/p/$projectId/destinations/$destinationId"
                params={{ projectId, destinationId }}
              >
                {nameOf(destinationId)}
              </Link>
            </span>
            <code>{id}</code>
          </p>
        </div>
        <div className="buttons">
          <Link
            className="button"
            to="/p/$projectId/deliveries"
            params={{ projectId }}
            search={{ connection: id }}
          >
            Its deliveries
          </Link>
          <button type="button" className="button" disabled={toggle.isRunning} onClick={toggle.run}>
            {isEnabled ? 'Switch off' : 'Switch on'}
          </button>
        </div>
      </header>
      <ActionFault error={toggle.error} />
      {!isEnabled && (
        <p className="notice busy">
          The connection is off: new events do not match it. Deliveries that it has already still go
          out.
        </p>
      )}
    </>
  )
}

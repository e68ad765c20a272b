import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { useAction } from '../../parts/forms/form.tsx'
import { PlaceTabs } from '../../parts/place-tabs.tsx'
import { ActionFault, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../session/project.tsx'
import { Health } from './tabs/health.tsx'
import { Settings } from './tabs/settings.tsx'
import { Signing } from './tabs/signing.tsx'

const TABS = [
  ['health', 'Health'],
  ['signing', 'Signing'],
  ['settings', 'Settings'],
] as const

export function DestinationPage() {
  const from = '/inside/p/$projectId/destinations/$destinationId'
  const { destinationId } = useParams({ from })
  const { tab: named } = useSearch({ from })
  const { api, projectId } = useProject()
  const destination = useQuery({
    queryKey: [projectId, 'destination', destinationId],
    queryFn: () => api.getDestination({ id: destinationId }),
    refetchInterval: 5000,
  })
  const tab = TABS.find(([name]) => name === named)?.[0] ?? 'health'
  return (
    <Loaded query={destination} noun="The destination">
      {(found) => (
        <>
          <Header destination={found} />
          <PlaceTabs label="Parts of the destination" tabs={TABS} shown={tab} />
          {tab === 'health' && <Health destination={found} />}
          {tab === 'signing' && <Signing key={found.id} destination={found} />}
          {tab === 'settings' && <Settings key={found.id} destination={found} />}
        </>
      )}
    </Loaded>
  )
}

const DISABLED: Readonly<Record<string, string>> = {
  gone: 'Postern switched it off: the endpoint answered 410, which says that it is gone.',
  failing: 'Postern switched it off: every attempt failed for 5 days.',
}

function Header({ destination }: { destination: Schemas['Destination'] }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const { id, isEnabled, health, disabledReason } = destination
  const toggle = useAction(
    () => api.toggleDestination({ id, body: { isEnabled: !isEnabled } }),
    () => void client.invalidateQueries({ queryKey: [projectId] }),
  )
  return (
    <>
      <header>
        <div>
          <PageTitle>{destination.name}</PageTitle>
          <p className="tags muted">
            <StatusMark status={isEnabled ? health : 'disabled'} />
            <code>{destination.url}</code>
            <code>{id}</code>
          </p>
        </div>
        <div className="buttons">
          <button type="button" className="button" disabled={toggle.isRunning} onClick={toggle.run}>
            {isEnabled ? 'Switch off' : 'Switch on'}
          </button>
        </div>
      </header>
      <ActionFault error={toggle.error} />
      {!isEnabled && (
        <p className="notice busy">
          {DISABLED[disabledReason ?? ''] ?? 'It is switched off.'} Deliveries wait, and go out when
          it is on again.
        </p>
      )}
    </>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { useAction } from '../../parts/forms/form.tsx'
import { PlaceTabs } from '../../parts/place-tabs.tsx'
import { ActionFault, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../session/project.tsx'
import { Rotation } from './tabs/rotation.tsx'
import { SetUp } from './tabs/set-up.tsx'
import { Settings } from './tabs/settings.tsx'
import { VerifySignature } from './verify/verify-signature.tsx'

const TABS = [
  ['setup', 'Address'],
  ['verify', 'Test a signature'],
  ['rotation', 'Secret'],
  ['settings', 'Settings'],
] as const

/** Mail has neither a signature to paste nor a secret. */
const MAIL_TABS = TABS.filter(([name]) => name !== 'verify' && name !== 'rotation')

export function SourcePage() {
  const { sourceId } = useParams({ from: '/inside/p/$projectId/sources/$sourceId' })
  const { tab: named, event } = useSearch({ from: '/inside/p/$projectId/sources/$sourceId' })
  const { api, projectId } = useProject()
  const source = useQuery({
    queryKey: [projectId, 'source', sourceId],
    queryFn: () => api.getSource({ id: sourceId }),
    refetchInterval: 5000,
  })
  return (
    <Loaded query={source} noun="The source">
      {(found) => {
        const tabs = found.kind === 'email' ? MAIL_TABS : TABS
        const tab = tabs.find(([name]) => name === named)?.[0] ?? 'setup'
        return (
          <>
            <Header source={found} />
            <PlaceTabs label="Parts of the source" tabs={tabs} shown={tab} />
            {tab === 'setup' && <SetUp source={found} />}
            {tab === 'verify' && <VerifySignature source={found} eventId={event} />}
            {tab === 'rotation' && <Rotation key={found.id} source={found} />}
            {tab === 'settings' && <Settings key={found.id} source={found} />}
          </>
        )
      }}
    </Loaded>
  )
}

function Header({ source }: { source: Schemas['Source'] }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const { id, isEnabled } = source
  const toggle = useAction(
    () => api.toggleSource({ id, body: { isEnabled: !isEnabled } }),
    () => void client.invalidateQueries({ queryKey: [projectId] }),
  )
  return (
    <>
      <header>
        <div>
          <PageTitle>{source.name}</PageTitle>
          <p className="tags muted">
            <StatusMark status={isEnabled ? 'enabled' : 'disabled'} />
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
          The source is off: its address takes nothing, and nothing is stored.
        </p>
      )}
    </>
  )
}

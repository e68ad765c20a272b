import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { formKey } from '../../parts/forms/form-key.ts'
import { Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { useProject } from '../../session/project.tsx'
import { AllowedHosts } from './allowed-hosts.tsx'
import { statusOf } from './connectors.tsx'
import { Install } from './install.tsx'
import { useConnector } from './queries.ts'
import { Replicas } from './replicas.tsx'

export function ConnectorPage() {
  const { connectorId } = useParams({ from: '/inside/p/$projectId/connectors/$connectorId' })
  const connector = useConnector(connectorId)
  return (
    <Loaded query={connector} noun="The connector">
      {(found) => (
        <>
          <Header connector={found} />
          <Install connector={found} />
          <Replicas connectorId={connectorId} />
          <AllowedHosts key={formKey(found.id, found.allowedHosts)} connector={found} />
          <Danger connector={found} />
        </>
      )}
    </Loaded>
  )
}

function Header({ connector }: { connector: Schemas['Connector'] }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const { id, isDisabled, provisionedAt } = connector
  const toggle = async () => {
    await api.toggleConnector({ id, body: { isDisabled: !isDisabled } })
    await client.invalidateQueries({ queryKey: [projectId] })
  }
  return (
    <>
      <header>
        <div>
          <PageTitle>{connector.name}</PageTitle>
          <p className="tags muted">
            <StatusMark status={statusOf(connector)} />
            <code>{id}</code>
          </p>
        </div>
        <div className="buttons">
          <DangerAction
            name={isDisabled ? 'Enable…' : 'Disable…'}
            title={isDisabled ? 'Enable the connector?' : 'Disable the connector?'}
            action={isDisabled ? 'Enable' : 'Disable'}
            run={toggle}
          >
            <p>
              {isDisabled
                ? 'Its replicas may come back, and what waits goes out.'
                : 'The sessions of its replicas end within a second. Deliveries for it wait.'}
            </p>
          </DangerAction>
        </div>
      </header>
      {provisionedAt === null && (
        <p className="notice busy">A gateway is taking the connector over; this takes a second.</p>
      )}
    </>
  )
}

function Danger({ connector }: { connector: Schemas['Connector'] }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = async () => {
    await api.deleteConnector({ id: connector.id, cascade: true })
    await navigate({ to: '/p/$projectId/connectors', params: { projectId } })
    void client.invalidateQueries({ queryKey: [projectId] })
  }
  return (
    <section className="section">
      <h2>These cannot be taken back</h2>
      <div className="buttons">
        <DangerAction
          name="Delete the connector…"
          title={`Delete ${connector.name}?`}
          action="Delete"
          typed={connector.name}
          run={remove}
        >
          <p>
            Destinations behind it and their connections are deleted too; what waits for them is
            cancelled.
          </p>
        </DangerAction>
      </div>
    </section>
  )
}

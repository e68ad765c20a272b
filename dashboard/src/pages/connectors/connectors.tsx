import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { NamedList } from '../../parts/lists/named-list.tsx'
import { counted } from '../../parts/words/numbers.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { OWNERS_ONLY, useProject } from '../../session/project.tsx'
import { keepEnrolment } from './enrolment.ts'
import { useConnectors } from './queries.ts'

export function Connectors() {
  const { projectId, mayAll } = useProject()
  const connectors = useConnectors()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <NamedList
        title="Connectors"
        query={connectors}
        create={
          <button
            type="button"
            className="button main"
            aria-disabled={!mayAll}
            title={mayAll ? undefined : OWNERS_ONLY}
            onClick={() => mayAll && setOpen(true)}
          >
            New connector
          </button>
        }
        empty={{
          title: 'No connector yet',
          text: 'A connector reaches destinations in a private network. Its agent dials out, so that nothing there has to be opened: copy a command, run it there.',
        }}
        columns={['Connector', 'Status', 'Replicas', 'Last heard', 'Allowed hosts']}
        cells={(connector) => (
          <>
            <td>
              <Link
                to="/p/$projectId/connectors/$connectorId"
                params={{ projectId, connectorId: connector.id }}
              >
                {connector.name}
              </Link>
            </td>
            <td data-label="Status">
              <StatusMark status={statusOf(connector)} />
            </td>
            <td data-label="Replicas">{counted(connector.onlineReplicas, 'replica')} online</td>
            <td data-label="Last heard">
              {connector.lastSeenAt === null ? (
                <span className="muted">never</span>
              ) : (
                <Time at={connector.lastSeenAt} withAge />
              )}
            </td>
            <td data-label="Allowed hosts" className="mono">
              {connector.allowedHosts.length === 0
                ? 'as its agents allow'
                : connector.allowedHosts.join(', ')}
            </td>
          </>
        )}
      />
      {isOpen && <NewConnector onClose={() => setOpen(false)} />}
    </>
  )
}

export function statusOf({ isDisabled, onlineReplicas }: Schemas['Connector']) {
  if (isDisabled) return 'disabled'
  return onlineReplicas > 0 ? 'online' : 'offline'
}

function NewConnector({ onClose }: { onClose: () => void }) {
  const { api, projectId } = useProject()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const action = useAction(
    () => api.createConnector({ body: { name } }),
    ({ id, enrollmentKey }) => {
      keepEnrolment(id, enrollmentKey)
      onClose()
      void client.invalidateQueries({ queryKey: [projectId, 'connectors'] })
      void navigate({
        to: '/p/$projectId/connectors/$connectorId',
        params: { projectId, connectorId: id },
      })
    },
  )
  return (
    <Dialog title="New connector" onClose={onClose}>
      <Form
        action={action}
        submit="Create the connector"
        others={
          <button type="button" className="button" onClick={onClose}>
            Leave it
          </button>
        }
      >
        <TextField
          label="Name"
          hint="The place that it leads to, such as office or cluster-eu."
          required
          autoFocus
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
      </Form>
    </Dialog>
  )
}

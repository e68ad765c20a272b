import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { SelectField, TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { useProject } from '../../session/project.tsx'

const MODES = [
  ['public', 'Directly: its URL is public'],
  ['private', 'Through a connector: it is in a private network'],
] as const

export function NewDestination() {
  const { api, projectId } = useProject()
  const search = useSearch({ from: '/inside/p/$projectId/destinations/new' })
  const navigate = useNavigate()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [url, setUrl] = useState('')
  const [mode, setMode] = useState<'public' | 'private'>(search.mode ?? 'public')
  const [connectorId, setConnector] = useState('')
  const action = useAction(
    async () => await api.createDestination({ body: body() }),
    ({ id }) => {
      void client.invalidateQueries({ queryKey: [projectId] })
      void navigate({
        to: '/p/$projectId/destinations/$destinationId',
        params: { projectId, destinationId: id },
      })
    },
  )
  function body(): Schemas['DestinationCreate'] {
    return mode === 'public' ? { name, url } : { name, url, mode, connectorId }
  }
  return (
    <>
      <header>
        <PageTitle>New destination</PageTitle>
      </header>
      <Form
        action={action}
        submit="Create the destination"
        others={
          <Link to="/p/$projectId/destinations" params={{ projectId }} className="button">
            Leave it
          </Link>
        }
      >
        <TextField
          label="Name"
          required
          autoFocus
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
        <SelectField label="Reached" value={mode} onChange={setMode} options={MODES} />
        {mode === 'private' && (
          <ConnectorChoice
            value={connectorId}
            onChange={setConnector}
            fault={action.fault('connectorId')}
          />
        )}
        <TextField
          label="URL"
          type="url"
          required
          isMono
          placeholder={
            mode === 'public'
              ? 'https://shop.example.com/webhooks'
              : 'http://shop.internal:8080/webhooks'
          }
          hint={
            mode === 'private' ? 'As the connector sees it, from inside its network.' : undefined
          }
          value={url}
          onChange={setUrl}
          fault={action.fault('url')}
        />
      </Form>
    </>
  )
}

function ConnectorChoice({
  value,
  onChange,
  fault,
}: {
  value: string
  onChange: (id: string) => void
  fault: string | undefined
}) {
  const { api, projectId } = useProject()
  const { data } = useQuery({
    queryKey: [projectId, 'connectors'],
    queryFn: () => api.listConnectors({ limit: 100 }),
  })
  const connectors = data?.data ?? []
  if (data !== undefined && connectors.length === 0) {
    return (
      <p className="notice busy">
        There is no connector yet.{' '}
        <Link to="/p/$projectId/connectors" params={{ projectId }}>
          Create one
        </Link>
        , which takes a command to copy, then come back.
      </p>
    )
  }
  return (
    <SelectField
      label="Connector"
      value={value}
      onChange={onChange}
      fault={fault}
      options={[
        ['', 'choose one'],
        ...connectors.map(
          ({ id, name, onlineReplicas }) =>
            [
              id,
              `${name} (${onlineReplicas === 0 ? 'offline' : `${onlineReplicas} online`})`,
            ] as const,
        ),
      ]}
    />
  )
}

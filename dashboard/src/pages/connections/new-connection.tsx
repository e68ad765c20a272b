import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'

import { SelectField, TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useNames } from '../../parts/names/names.ts'
import { Empty } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { useProject } from '../../session/project.tsx'

export function NewConnection() {
  const { api, projectId } = useProject()
  const search = useSearch({ from: '/inside/p/$projectId/connections/new' })
  const { sources, destinations, isLoaded, nameOf } = useNames()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [sourceId, setSource] = useState(search.source ?? '')
  const [destinationId, setDestination] = useState(search.destination ?? '')
  const [written, setName] = useState<string>()
  const isChosen = sourceId !== '' && destinationId !== ''
  const name = written ?? (isChosen ? `${nameOf(sourceId)}-to-${nameOf(destinationId)}` : '')
  const action = useAction(
    () => api.createConnection({ body: { name, sourceId, destinationId } }),
    ({ id }) => {
      void client.invalidateQueries({ queryKey: [projectId] })
      void navigate({
        to: '/p/$projectId/connections/$connectionId',
        params: { projectId, connectionId: id },
      })
    },
  )
  const missing =
    sources.length === 0 ? 'source' : destinations.length === 0 ? 'destination' : undefined
  if (isLoaded && missing !== undefined) {
    return (
      <Empty title={`A connection needs a ${missing}`}>
        <Link
          to={missing === 'source' ? '/p/$projectId/sources/new' : '/p/$projectId/destinations/new'}
          params={{ projectId }}
          className="button main"
        >
          New {missing}
        </Link>
      </Empty>
    )
  }
  return (
    <>
      <header>
        <PageTitle>New connection</PageTitle>
      </header>
      <Form
        action={action}
        submit="Create the connection"
        others={
          <Link to="/p/$projectId/connections" params={{ projectId }} className="button">
            Leave it
          </Link>
        }
      >
        <SelectField
          label="From source"
          value={sourceId}
          onChange={setSource}
          options={[
            ['', 'choose one'],
            ...sources.map(({ id, name: text }) => [id, text] as const),
          ]}
          fault={action.fault('sourceId')}
        />
        <SelectField
          label="To destination"
          value={destinationId}
          onChange={setDestination}
          options={[
            ['', 'choose one'],
            ...destinations.map(({ id, name: text }) => [id, text] as const),
          ]}
          fault={action.fault('destinationId')}
        />
        <TextField
          label="Name"
          required
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
        <p className="muted">
          Everything passes at first. A filter is set, and tried on real events, on its page.
        </p>
      </Form>
    </>
  )
}

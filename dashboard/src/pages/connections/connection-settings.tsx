import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { SelectField, TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useSaved } from '../../parts/forms/use-saved.ts'
import { useNames } from '../../parts/names/names.ts'
import { useProject } from '../../session/project.tsx'

export function ConnectionSettings({ connection }: { connection: Schemas['Connection'] }) {
  const { api, projectId } = useProject()
  const { sources, destinations } = useNames()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [name, setName] = useState(connection.name)
  const [sourceId, setSource] = useState(connection.sourceId)
  const [destinationId, setDestination] = useState(connection.destinationId)
  const saved = useSaved('connection')
  const again = () => client.invalidateQueries({ queryKey: [projectId] })
  const action = useAction(
    () =>
      api.updateConnection({
        id: connection.id,
        body: { data: { name, sourceId, destinationId } },
      }),
    (changed) => saved(changed),
  )
  return (
    <>
      <Form action={action} submit="Save">
        <TextField
          label="Name"
          required
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
        <SelectField
          label="From source"
          value={sourceId}
          onChange={setSource}
          options={sources.map(({ id, name: text }) => [id, text] as const)}
          fault={action.fault('sourceId')}
        />
        <SelectField
          label="To destination"
          value={destinationId}
          onChange={setDestination}
          options={destinations.map(({ id, name: text }) => [id, text] as const)}
          fault={action.fault('destinationId')}
        />
      </Form>
      <section className="section">
        <h2>These cannot be taken back</h2>
        <div className="buttons">
          <DangerAction
            name="Delete the connection…"
            title={`Delete ${connection.name}?`}
            action="Delete"
            run={async () => {
              await api.deleteConnection({ id: connection.id })
              await navigate({ to: '/p/$projectId/connections', params: { projectId } })
              void again()
            }}
          >
            <p>Its waiting deliveries are cancelled.</p>
          </DangerAction>
        </div>
      </section>
    </>
  )
}

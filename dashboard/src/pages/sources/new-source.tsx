import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { read } from '../../api/client.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { usePresets } from '../../parts/verifier/presets.ts'
import { NO_CHOICE, VerifierFields, verifierOf } from '../../parts/verifier/verifier-fields.tsx'
import { useProject } from '../../shell/project.tsx'

export function NewSource() {
  const { api, projectId } = useProject()
  const { data: presets = [] } = usePresets()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [choice, setChoice] = useState(NO_CHOICE)
  const action = useAction(
    () => read(api.POST('/sources', { body: { name, ...verifierOf(choice, presets) } })),
    ({ id }) => {
      void client.invalidateQueries({ queryKey: [projectId] })
      void navigate({ to: '/p/$projectId/sources/$sourceId', params: { projectId, sourceId: id } })
    },
  )
  return (
    <>
      <header>
        <h1>New source</h1>
      </header>
      <Form
        action={action}
        submit="Create the source"
        others={
          <Link to="/p/$projectId/sources" params={{ projectId }} className="button">
            Leave it
          </Link>
        }
      >
        <TextField
          label="Name"
          hint="Unique in the project, such as stripe-live."
          required
          autoFocus
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
        <VerifierFields choice={choice} onChange={setChoice} fault={action.fault} />
      </Form>
    </>
  )
}

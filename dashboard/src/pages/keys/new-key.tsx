import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { callAuth, type Key, type Permissions } from '../../api/auth.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { EndField, expiryIn, type End } from '../../parts/forms/end-field.tsx'
import { CheckField, SelectField, TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { SecretDialog } from '../../parts/forms/secret-dialog.tsx'
import { useOrganisationPath } from '../../session/organisation.ts'
import { useProject } from '../../session/project.tsx'
import { useReach } from '../../session/session.ts'
import { PermissionMatrix, PRESETS } from './permissions.tsx'

export function NewKey({ onClose }: { onClose: () => void }) {
  const path = useOrganisationPath()
  const client = useQueryClient()
  const [key, setKey] = useState<string>()
  const again = () => client.invalidateQueries({ queryKey: [path, 'keys'] })
  return key === undefined ? (
    <Dialog title="New key" onClose={onClose}>
      <KeyForm
        onClose={onClose}
        onMade={(made) => {
          setKey(made)
          void again()
        }}
      />
    </Dialog>
  ) : (
    <SecretDialog secret={key} name="key" onClose={onClose} />
  )
}

function KeyForm({ onClose, onMade }: { onClose: () => void; onMade: (key: string) => void }) {
  const { mayAll, organisation } = useProject()
  const path = useOrganisationPath()
  const reach = useReach() ?? []
  const [name, setName] = useState('')
  const [isScoped, setScoped] = useState(true)
  const [permissions, setPermissions] = useState<Permissions>(PRESETS[0]?.[1] ?? {})
  const [projectId, setProject] = useState('')
  const [end, setEnd] = useState<End>('')
  const action = useAction(
    () =>
      callAuth<Key & { key: string }>('POST', `${path}/keys`, {
        name,
        permissions: isScoped ? permissions : null,
        ...(projectId === '' ? {} : { projectId }),
        ...expiryIn(end),
      }),
    ({ key }) => onMade(key),
  )
  const projects = reach.filter((each) => each.organisation.id === organisation.id)
  return (
    <Form
      action={action}
      submit="Make the key"
      others={
        <button type="button" className="button" onClick={onClose}>
          Leave it
        </button>
      }
    >
      <TextField
        label="Name"
        hint="The program that uses it, such as ci-deploy."
        required
        autoFocus
        value={name}
        onChange={setName}
        fault={action.fault('name')}
      />
      <SelectField
        label="Project"
        hint="Fixed from now on."
        value={projectId}
        onChange={setProject}
        options={[
          ['', 'any of the organisation'],
          ...projects.map(({ project }) => [project.id, project.name] as const),
        ]}
        fault={action.fault('projectId')}
      />
      <EndField value={end} onChange={setEnd} fault={action.fault('expiresAt')} />
      <CheckField
        label="Only what is chosen here"
        hint="Without it the key is unscoped: it may what a member may, but deletes and reveals nothing."
        value={isScoped}
        onChange={setScoped}
      />
      {isScoped && (
        <PermissionMatrix permissions={permissions} onChange={setPermissions} mayBill={mayAll} />
      )}
    </Form>
  )
}

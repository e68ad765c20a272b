import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { callAuth, type Key, type Permissions } from '../../api/auth.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { CheckField, SelectField, TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { Copyable } from '../../parts/words/copy.tsx'
import { useProject } from '../../shell/project.tsx'
import { useReach } from '../../shell/session.ts'
import { useOrganisationPath } from '../members/queries.ts'
import { PermissionMatrix, PRESETS } from './permissions.tsx'

const DAY_MS = 86_400_000
const ENDS = [
  ['', 'never'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
] as const

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
    <Shown apiKey={key} onClose={onClose} />
  )
}

/** Closed only by someone who says that the key is kept. */
function Shown({ apiKey, onClose }: { apiKey: string; onClose: () => void }) {
  const [isStored, setStored] = useState(false)
  return (
    <Dialog title="Copy the key now" onClose={onClose}>
      <p>It is shown this once. Whoever loses it makes another.</p>
      <Copyable text={apiKey} name="key" />
      <CheckField label="I have stored it" value={isStored} onChange={setStored} />
      <div className="buttons">
        <button type="button" className="button main" disabled={!isStored} onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
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
  const [days, setDays] = useState<(typeof ENDS)[number][0]>('')
  const action = useAction(
    () =>
      callAuth<Key & { key: string }>('POST', `${path}/keys`, {
        name,
        permissions: isScoped ? permissions : null,
        ...(projectId === '' ? {} : { projectId }),
        ...(days === ''
          ? {}
          : { expiresAt: new Date(Date.now() + Number(days) * DAY_MS).toISOString() }),
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
      <SelectField
        label="Ends"
        hint="Fixed from now on."
        value={days}
        onChange={setDays}
        options={ENDS}
        fault={action.fault('expiresAt')}
      />
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

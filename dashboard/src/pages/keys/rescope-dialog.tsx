import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { callAuth, type Key, type Permissions } from '../../api/auth.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useOrganisationPath } from '../../session/organisation.ts'
import { useProject } from '../../session/project.tsx'
import { PermissionMatrix } from './permissions.tsx'

export function RescopeDialog({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { mayAll } = useProject()
  const path = useOrganisationPath()
  const client = useQueryClient()
  const [permissions, setPermissions] = useState<Permissions>(apiKey.permissions ?? {})
  const action = useAction(
    () => callAuth('PATCH', `${path}/keys/${apiKey.id}`, { permissions }),
    () => {
      onClose()
      void client.invalidateQueries({ queryKey: [path, 'keys'] })
    },
  )
  return (
    <Dialog title={`Permissions of ${apiKey.name}`} onClose={onClose}>
      <Form
        action={action}
        submit="Save"
        others={
          <button type="button" className="button" onClick={onClose}>
            Leave it
          </button>
        }
      >
        <PermissionMatrix permissions={permissions} onChange={setPermissions} mayBill={mayAll} />
        <p className="muted">
          It acts on the next request of the key. Its project and its end stay.
        </p>
      </Form>
    </Dialog>
  )
}

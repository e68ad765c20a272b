import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { callAuth, type Agent } from '../../api/auth.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { EndField, expiryIn, type End } from '../../parts/forms/end-field.tsx'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { SecretDialog } from '../../parts/forms/secret-dialog.tsx'
import { Command } from '../../parts/words/copy.tsx'
import { useOrganisationPath } from '../../session/organisation.ts'

export function NewAgent({ onClose }: { onClose: () => void }) {
  const path = useOrganisationPath()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [end, setEnd] = useState<End>('90')
  const action = useAction(
    () => callAuth<Agent & { token: string }>('POST', `${path}/agents`, { name, ...expiryIn(end) }),
    () => void client.invalidateQueries({ queryKey: [path, 'agents'] }),
  )
  if (action.result !== undefined) {
    return <Connect token={action.result.token} onClose={onClose} />
  }
  return (
    <Dialog title="New agent" onClose={onClose}>
      <Form
        action={action}
        submit="Make the agent"
        others={
          <button type="button" className="button" onClick={onClose}>
            Leave it
          </button>
        }
      >
        <TextField
          label="Name"
          hint="The program that uses it, such as claude-code."
          required
          autoFocus
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
        <EndField value={end} onChange={setEnd} fault={action.fault('expiresAt')} />
      </Form>
    </Dialog>
  )
}

function Connect({ token, onClose }: { token: string; onClose: () => void }) {
  const command = `claude mcp add --transport http postern ${location.origin}/mcp --header "Authorization: Bearer $POSTERN_TOKEN"`
  return (
    <SecretDialog secret={token} name="token" onClose={onClose}>
      <p>
        With the token as <code>POSTERN_TOKEN</code> in the environment, this connects Claude Code.
        Other clients take the same address and header.
      </p>
      <Command text={command} />
    </SecretDialog>
  )
}

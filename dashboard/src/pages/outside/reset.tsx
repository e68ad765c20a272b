import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { enter } from './enter.ts'
import { Frame } from './parts/frame.tsx'
import { useLinkToken } from './token.ts'

export function Reset() {
  const token = useLinkToken()
  const [password, setPassword] = useState('')
  const action = useAction(
    () => callAuth('POST', '/reset', { token, password }),
    () => enter('/sign-in'),
  )
  return (
    <Frame title="Choose a new password">
      {token === '' ? (
        <p>
          This link is incomplete: it ends with <code>#</code> and a token. Ask an owner for a new
          one.
        </p>
      ) : (
        <Form action={action} submit="Save the password">
          <TextField
            label="New password"
            type="password"
            autoComplete="new-password"
            required
            autoFocus
            value={password}
            onChange={setPassword}
            fault={action.fault('password')}
          />
        </Form>
      )}
    </Frame>
  )
}

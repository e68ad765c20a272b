import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { Dialog } from '../dialog.tsx'
import { TextField } from '../forms/fields.tsx'
import { Form, useAction } from '../forms/form.tsx'

/** Secrets, keys and owners are for a person who signed in a short while ago, or proves it once more. */
export function PasswordQuestion({ answer }: { answer: (isConfirmed: boolean) => void }) {
  const [password, setPassword] = useState('')
  const action = useAction(
    () => callAuth('POST', '/confirm-password', { password }),
    () => answer(true),
  )
  return (
    <Dialog title="Your password, once more" onClose={() => answer(false)}>
      <p>You signed in a while ago, and this needs certainty that it is you.</p>
      <Form action={action} submit="Go on">
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          value={password}
          onChange={setPassword}
          fault={action.fault('password')}
        />
      </Form>
    </Dialog>
  )
}

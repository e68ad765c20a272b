import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { providerAddress, useOptions } from '../../session/options.ts'
import { Dialog } from '../dialog.tsx'
import { TextField } from '../forms/fields.tsx'
import { Form, useAction } from '../forms/form.tsx'

/** Secrets, keys and owners are for a person who signed in a short while ago, or proves it once more. */
export function PasswordQuestion({ answer }: { answer: (isConfirmed: boolean) => void }) {
  const options = useOptions()
  const provider = options?.provider ?? null
  const hasPasswords = options?.hasPasswords !== false
  return (
    <Dialog
      title={hasPasswords ? 'Your password, once more' : 'Sign in once more'}
      onClose={() => answer(false)}
    >
      <p>You signed in a while ago, and this needs certainty that it is you.</p>
      {hasPasswords && <Password answer={answer} />}
      {provider !== null && (
        <p>
          <a
            className="button"
            href={providerAddress(`${location.pathname}${location.search}`, { again: true })}
          >
            Sign in again with {provider}
          </a>
        </p>
      )}
    </Dialog>
  )
}

function Password({ answer }: { answer: (isConfirmed: boolean) => void }) {
  const [password, setPassword] = useState('')
  const action = useAction(
    () => callAuth('POST', '/confirm-password', { password }),
    () => answer(true),
  )
  return (
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
  )
}

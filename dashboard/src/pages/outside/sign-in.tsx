import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { enter } from './enter.ts'
import { Frame } from './frame.tsx'

export function SignIn() {
  const { next } = useSearch({ from: '/sign-in' })
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const action = useAction(
    () => callAuth('POST', '/sign-in', { email, password }),
    () => enter(next),
  )
  return (
    <Frame title="Sign in">
      <Form action={action} submit="Sign in">
        <TextField
          label="Email"
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={setEmail}
          fault={action.fault('email')}
        />
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={setPassword}
          fault={action.fault('password')}
        />
      </Form>
      <p className="muted">
        No account yet? An owner invites you with a link. The first owner uses the setup link that
        the start of Postern prints. A lost password: an owner makes a new link with{' '}
        <code>npm run admin -- users reset-link</code>.
      </p>
    </Frame>
  )
}

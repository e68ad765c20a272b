import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { Frame } from './parts/frame.tsx'

/** Asks for a link by mail. The answer is the same for an address that has no account. */
export function Forgot() {
  const [email, setEmail] = useState('')
  const [isAsked, setAsked] = useState(false)
  const action = useAction(
    () => callAuth('POST', '/forgot-password', { email }),
    () => setAsked(true),
  )
  return (
    <Frame title="A new password">
      {isAsked ? (
        <>
          <p role="status">
            If {email} has an account, a link is on its way there. It is good once, for an hour.
          </p>
          <p className="muted">
            Nothing came? Look among the unwanted mail, and whether the address is right. An address
            gets few mails: then wait ten minutes.
          </p>
        </>
      ) : (
        <Form action={action} submit="Mail me a link">
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
        </Form>
      )}
      <p className="muted">
        <Link to="/sign-in">Back to sign in</Link>
      </p>
    </Frame>
  )
}

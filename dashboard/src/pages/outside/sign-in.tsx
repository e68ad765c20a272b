import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useOptions } from '../../session/options.ts'
import { enter } from './enter.ts'
import { Frame } from './parts/frame.tsx'
import { ProviderButton } from './parts/provider-button.tsx'
import { PROBLEM_WORDS } from './problems.ts'

export function SignIn() {
  const { next, problem } = useSearch({ from: '/sign-in' })
  const options = useOptions()
  return (
    <Frame title="Sign in">
      {problem !== undefined && (
        <p className="notice bad" role="alert">
          {PROBLEM_WORDS[problem]}
        </p>
      )}
      <ProviderButton next={next} />
      {options?.hasPasswords !== false && <WithPassword next={next} />}
      <Elsewhere />
    </Frame>
  )
}

function WithPassword({ next }: { next: string | undefined }) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const action = useAction(
    () => callAuth('POST', '/sign-in', { email, password }),
    () => enter(next),
  )
  return (
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
  )
}

/** How somebody without an account, or without its password, gets in. */
function Elsewhere() {
  const options = useOptions()
  if (options?.isSetUp === false) {
    return (
      <>
        <p className="notice busy">
          This installation has no owner yet. The first owner uses the setup link that the start of
          Postern prints, or a new one of <code>npm run admin -- users setup-link</code>.
        </p>
        {options.signUp === 'open' && options.hasPasswords && (
          <p className="muted">
            Everybody else may <Link to="/sign-up">make an account</Link>.
          </p>
        )}
      </>
    )
  }
  if (options?.hasPasswords === false) {
    return <p className="muted">No account yet? An owner invites your email address.</p>
  }
  return (
    <p className="muted">
      No account yet?{' '}
      {options?.signUp === 'open' ? (
        <Link to="/sign-up">Make one</Link>
      ) : (
        'An owner invites you with a link'
      )}
      .{' '}
      {options?.isMailing === true ? (
        <Link to="/forgot">A lost password?</Link>
      ) : (
        <>
          A lost password: the operator makes a link with{' '}
          <code>npm run admin -- users reset-link</code>.
        </>
      )}
    </p>
  )
}

import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useOptions } from '../../session/options.ts'
import { enter } from './enter.ts'
import { Frame } from './parts/frame.tsx'
import { NOBODY, PersonFields } from './parts/person-fields.tsx'
import { ProviderButton } from './parts/provider-button.tsx'
import { useLinkToken } from './token.ts'

export function Invite() {
  const token = useLinkToken()
  const options = useOptions()
  const provider = options?.provider ?? null
  return (
    <Frame title="Accept the invitation">
      {token === '' ? (
        <p>
          This link is incomplete: it ends with <code>#</code> and a token. Ask for it again.
        </p>
      ) : (
        <>
          {provider !== null && (
            <p>
              Whoever signs in with {provider} accepts the invitations of their address by that.
            </p>
          )}
          <ProviderButton />
          {options?.hasPasswords !== false && <WithPassword token={token} />}
        </>
      )}
    </Frame>
  )
}

function WithPassword({ token }: { token: string }) {
  const [person, setPerson] = useState(NOBODY)
  const action = useAction(
    () => callAuth('POST', '/invitations/accept', { token, ...person }),
    () => enter(),
  )
  return (
    <>
      <p>
        Use the email address that the invitation is for. If you have an account, give its password.
      </p>
      <Form action={action} submit="Join">
        <PersonFields person={person} onChange={setPerson} fault={action.fault} />
      </Form>
    </>
  )
}

import { Link } from '@tanstack/react-router'

import { callAuth } from '../../api/auth.ts'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { enter } from './enter.ts'
import { Frame } from './parts/frame.tsx'
import { useLinkToken } from './token.ts'

/** Verifies the address of the account that is signed in, by the link that was mailed to it. */
export function Verify() {
  const token = useLinkToken()
  const action = useAction(
    () => callAuth('POST', '/verify', { token }),
    () => enter('/me'),
  )
  return (
    <Frame title="Prove your address">
      {token === '' ? (
        <p>
          This link is incomplete: it ends with <code>#</code> and a token. Have another one mailed
          on the page <Link to="/me">Your account</Link>.
        </p>
      ) : (
        <>
          <p>
            You must be signed in to your account in this browser. If you have no account, or did
            not ask for this link, close the page.
          </p>
          <Form action={action} submit="Prove the address">
            {null}
          </Form>
        </>
      )}
    </Frame>
  )
}

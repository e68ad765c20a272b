import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { enter } from './enter.ts'
import { Frame } from './parts/frame.tsx'
import { NOBODY, PersonFields } from './parts/person-fields.tsx'
import { useLinkToken } from './token.ts'

/** The first owner, by the link that the start prints. */
export function Setup() {
  const token = useLinkToken()
  const [person, setPerson] = useState(NOBODY)
  const action = useAction(
    () => callAuth('POST', '/setup', { token, ...person }),
    () => enter(),
  )
  if (token === '') {
    return (
      <Frame title="This link is incomplete">
        <p>
          The setup link ends with <code>#</code> and a token. Copy all of it from where Postern was
          started, or make a new one with <code>npm run admin -- users setup-link</code>.
        </p>
      </Frame>
    )
  }
  return (
    <Frame title="Make the first account">
      <p>You become the owner of this installation. Others join by invitation.</p>
      <Form action={action} submit="Make the account">
        <PersonFields person={person} onChange={setPerson} fault={action.fault} />
      </Form>
    </Frame>
  )
}

import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useOptions } from '../../session/options.ts'
import { enter } from './enter.ts'
import { Frame } from './parts/frame.tsx'
import { NOBODY, PersonFields } from './parts/person-fields.tsx'
import { useLinkToken } from './token.ts'

/**
 * For an installation that lets anybody come. Where mail is sent, the address is proved first: the link in the mail leads
 * here with a token and the address behind it.
 */
export function SignUp() {
  const [token = '', email = ''] = useLinkToken().split('/')
  const options = useOptions()
  if (token !== '') return <MakeAccount token={token} email={decodeURIComponent(email)} />
  if (options === undefined) return <Frame title="Make an account">{null}</Frame>
  return options.isMailing ? <AskForLink /> : <MakeAccount />
}

function AskForLink() {
  const [email, setEmail] = useState('')
  const [isAsked, setAsked] = useState(false)
  const action = useAction(
    () => callAuth('POST', '/sign-up/link', { email }),
    () => setAsked(true),
  )
  if (isAsked) return <Asked email={email} onAnother={() => setAsked(false)} />
  return (
    <Frame title="Make an account">
      <p>We mail you a link. You choose your name and password behind it.</p>
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
    </Frame>
  )
}

function Asked({ email, onAnother }: { email: string; onAnother: () => void }) {
  const again = useAction(() => callAuth('POST', '/sign-up/link', { email }).then(() => true))
  return (
    <Frame title="Look at your mail">
      <p role="status">
        {again.result === true ? 'We sent another link to ' : 'We sent a link to '}
        <strong>{email}</strong>. It is good once, for a day
        {again.result === true ? '; the one before it is not good any more' : ''}.
      </p>
      <p className="muted">
        Nothing came? Look among the unwanted mail, and whether the address is right. An address
        gets few mails: then wait ten minutes.
      </p>
      <Form
        action={again}
        submit="Send it again"
        others={
          <button type="button" className="button" onClick={onAnother}>
            Another address
          </button>
        }
      >
        {null}
      </Form>
    </Frame>
  )
}

function MakeAccount({ token, email = '' }: { token?: string; email?: string }) {
  const [person, setPerson] = useState({ ...NOBODY, email })
  const [organisationName, setOrganisation] = useState('')
  const action = useAction(
    () => callAuth('POST', '/sign-up', { ...person, organisationName, token }),
    () => enter(),
  )
  return (
    <Frame title="Make an account">
      <Form action={action} submit="Make the account">
        <PersonFields person={person} onChange={setPerson} fault={action.fault} />
        <TextField
          label="Name of your organisation"
          autoComplete="organization"
          required
          value={organisationName}
          onChange={setOrganisation}
          fault={action.fault('organisationName')}
        />
      </Form>
    </Frame>
  )
}

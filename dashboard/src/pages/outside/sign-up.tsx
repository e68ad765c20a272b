import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { enter } from './enter.ts'
import { Frame } from './frame.tsx'
import { NOBODY, PersonFields } from './person-fields.tsx'

/** For an installation that lets anybody come. */
export function SignUp() {
  const [person, setPerson] = useState(NOBODY)
  const [organisationName, setOrganisation] = useState('')
  const action = useAction(
    () => callAuth('POST', '/sign-up', { ...person, organisationName }),
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

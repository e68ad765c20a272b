import { useState } from 'react'

import { callAuth } from '../../api/auth.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { toast } from '../../parts/toast.tsx'
import { useOptions } from '../../shell/options.ts'
import { useSession } from '../../shell/session.ts'

export function Me() {
  const { user, organisations } = useSession()
  const options = useOptions()
  return (
    <>
      <header>
        <h1>Your account</h1>
      </header>
      <dl className="facts">
        <dt>Name</dt>
        <dd>{user.name}</dd>
        <dt>Email</dt>
        <dd>{user.email}</dd>
        {organisations.map(({ id, name, role }) => (
          <Organisation key={id} name={name} role={role} />
        ))}
      </dl>
      {options?.hasPasswords !== false && <Password />}
    </>
  )
}

function Password() {
  const [currentPassword, setCurrent] = useState('')
  const [newPassword, setNew] = useState('')
  const action = useAction(
    () => callAuth('POST', '/password', { currentPassword, newPassword }),
    () => {
      setCurrent('')
      setNew('')
      toast('The password is changed. Every other session of yours has ended.')
    },
  )
  return (
    <section className="section">
      <h2>Change the password</h2>
      <Form action={action} submit="Change the password">
        <TextField
          label="Present password"
          type="password"
          autoComplete="current-password"
          required
          value={currentPassword}
          onChange={setCurrent}
          fault={action.fault('currentPassword')}
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          hint="Your other sessions end."
          value={newPassword}
          onChange={setNew}
          fault={action.fault('newPassword')}
        />
      </Form>
    </section>
  )
}

function Organisation({ name, role }: { name: string; role: string }) {
  return (
    <>
      <dt>Organisation</dt>
      <dd>
        {name}, {role}
      </dd>
    </>
  )
}

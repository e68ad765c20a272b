import { useState } from 'react'

import { callAuth, type Session } from '../../api/auth.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useSessionSaved } from '../../parts/forms/use-saved.ts'
import { toast } from '../../parts/toast.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { useOptions } from '../../session/options.ts'
import { signOut, useSession } from '../../session/session.ts'
import { ProviderButton } from '../outside/parts/provider-button.tsx'

export function Me() {
  const { user, organisations } = useSession()
  const options = useOptions()
  return (
    <>
      <header>
        <PageTitle>Your account</PageTitle>
      </header>
      <dl className="facts">
        <dt>Name</dt>
        <dd>{user.name}</dd>
        <dt>Email</dt>
        <dd>
          {user.email}
          {!user.isVerified && <span className="muted">, not proved yet</span>}
        </dd>
        {organisations.map(({ id, name, role }) => (
          <Organisation key={id} name={name} role={role} />
        ))}
      </dl>
      {!user.isVerified && <ProveAddress />}
      <Name key={user.name} name={user.name} />
      {options?.hasPasswords !== false && <Password />}
      <Sessions />
    </>
  )
}

/** For an account that anybody could have made with this address. */
function ProveAddress() {
  const options = useOptions()
  const action = useAction(() => callAuth('POST', '/verify/link').then(() => true))
  return (
    <section className="section">
      <h2>Prove your address</h2>
      <p>
        Nobody has proved that the address is yours. Until then invitations and alerts of yours are
        not mailed, and whoever can read its mail begins a new account with it: this one ends then.
      </p>
      {action.result === true && (
        <p role="status">A link is on its way. Open it in this browser.</p>
      )}
      {options?.isMailing === true && (
        <Form action={action} submit={action.result === true ? 'Mail it again' : 'Mail me a link'}>
          {null}
        </Form>
      )}
      {options?.isMailing === false && options.provider === null && (
        <p className="muted">No mail is sent from this installation.</p>
      )}
      <ProviderButton next="/me" />
    </section>
  )
}

function Name({ name: former }: { name: string }) {
  const saved = useSessionSaved()
  const [name, setName] = useState(former)
  const action = useAction(
    () => callAuth<Session>('PATCH', '/session', { name }),
    (session) => saved(() => session),
  )
  return (
    <section className="section">
      <h2>Change the name</h2>
      <Form action={action} submit="Save the name">
        <TextField
          label="Name"
          hint="Others of your organisations see it."
          autoComplete="name"
          required
          value={name}
          onChange={setName}
          fault={action.fault('name')}
        />
      </Form>
    </section>
  )
}

function Sessions() {
  const [isOpen, setOpen] = useState(false)
  return (
    <section className="section">
      <h2>Sessions</h2>
      <p>A browser that was lost, or that others use, is signed out with all the others.</p>
      <div className="buttons">
        <button type="button" className="button danger" onClick={() => setOpen(true)}>
          Sign out everywhere…
        </button>
      </div>
      {isOpen && (
        <Confirm
          title="Sign out everywhere?"
          action="Sign out everywhere"
          isDanger
          onClose={() => setOpen(false)}
          run={() => signOut({ everywhere: true })}
        >
          <p>All your sessions end at once, this one too. Keys and agents go on.</p>
        </Confirm>
      )}
    </section>
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

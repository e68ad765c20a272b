import { useState } from 'react'

import { callAuth, type Organisation } from '../../api/auth.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { formKey } from '../../parts/forms/form-key.ts'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { useSessionSaved } from '../../parts/forms/use-saved.ts'
import { Copyable } from '../../parts/words/copy.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { useOrganisationPath } from '../../session/organisation.ts'
import { OWNERS_ONLY, useProject } from '../../session/project.tsx'

/** The organisation itself; its members, keys and plan have pages of their own. */
export function Settings() {
  const { organisation } = useProject()
  return (
    <>
      <header>
        <PageTitle>Settings</PageTitle>
      </header>
      <Name key={formKey(organisation.id, organisation.name)} organisation={organisation} />
      <section className="section">
        <h2>Id</h2>
        <p className="muted">
          The commands of <code>npm run admin</code> name the organisation by it.
        </p>
        <Copyable text={organisation.id} name="id" />
      </section>
    </>
  )
}

function Name({ organisation }: { organisation: Organisation }) {
  const { mayAll } = useProject()
  const path = useOrganisationPath()
  const saved = useSessionSaved()
  const [name, setName] = useState(organisation.name)
  const action = useAction(
    () => callAuth<Organisation>('PATCH', path, { name }),
    (renamed) =>
      saved(({ organisations, ...session }) => ({
        ...session,
        organisations: organisations.map((each) => (each.id === renamed.id ? renamed : each)),
      })),
  )
  return (
    <Form action={action} submit="Save" isDisabled={!mayAll}>
      <TextField
        label="Name of the organisation"
        hint={mayAll ? 'Members and invitations see it.' : OWNERS_ONLY}
        required
        disabled={!mayAll}
        value={name}
        onChange={setName}
        fault={action.fault('name')}
      />
    </Form>
  )
}

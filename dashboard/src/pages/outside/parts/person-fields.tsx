import { TextField } from '../../../parts/forms/fields.tsx'

export interface Person {
  email: string
  name: string
  password: string
}

export const NOBODY: Person = { email: '', name: '', password: '' }

/** Who opens a link, for an account that is to be made. */
export function PersonFields({
  person,
  onChange,
  fault,
}: {
  person: Person
  onChange: (person: Person) => void
  fault: (member: string) => string | undefined
}) {
  return (
    <>
      <TextField
        label="Your name"
        autoComplete="name"
        required
        value={person.name}
        onChange={(name) => onChange({ ...person, name })}
        fault={fault('name')}
      />
      <TextField
        label="Email"
        type="email"
        autoComplete="username"
        required
        value={person.email}
        onChange={(email) => onChange({ ...person, email })}
        fault={fault('email')}
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="new-password"
        required
        hint="A long one. Managers and pasting are welcome."
        value={person.password}
        onChange={(password) => onChange({ ...person, password })}
        fault={fault('password')}
      />
    </>
  )
}

import type { Schemas } from '../../../api/client.ts'
import { SelectField, TextField } from '../../../parts/forms/fields.tsx'

type Stored = Schemas['DestinationAuth']

export interface AuthDraft {
  type: Stored['type']
  values: Readonly<Record<string, string>>
}

const TYPES = [
  ['none', 'No further authentication'],
  ['basic', 'User name and password'],
  ['bearer', 'Bearer token'],
  ['oauth2ClientCredentials', 'OAuth 2 client credentials'],
] as const

const MEMBERS = {
  none: [],
  basic: [
    ['username', 'User name'],
    ['password', 'Password'],
  ],
  bearer: [['token', 'Token']],
  oauth2ClientCredentials: [
    ['tokenUrl', 'Token URL'],
    ['clientId', 'Client id'],
    ['clientSecret', 'Client secret'],
    ['scope', 'Scope'],
  ],
} as const

const SECRETS = new Set(['password', 'token', 'clientSecret'])

/** As the API takes it: a secret that is left empty is left out, and the stored one stays. */
export function authOf(
  { type, values }: AuthDraft,
  stored: Stored,
): Schemas['DestinationAuthInput'] {
  const known = stored.type === type ? stored : {}
  const written = Object.entries(values).filter(([, value]) => value !== '')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API checks the members of each type
  return { ...known, ...Object.fromEntries(written), type } as Schemas['DestinationAuthInput']
}

export function AuthFields({
  draft,
  stored,
  onChange,
  fault,
}: {
  draft: AuthDraft
  stored: Stored
  onChange: (draft: AuthDraft) => void
  fault: (member: string) => string | undefined
}) {
  const known = new Map<string, string>(stored.type === draft.type ? Object.entries(stored) : [])
  return (
    <>
      <SelectField
        label="Authentication"
        value={draft.type}
        onChange={(type) => onChange({ type, values: {} })}
        options={TYPES}
        fault={fault('auth')}
      />
      {MEMBERS[draft.type].map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          isMono
          type={SECRETS.has(name) ? 'password' : 'text'}
          autoComplete="off"
          hint={
            SECRETS.has(name) && stored.type === draft.type
              ? 'Left empty: the stored one stays.'
              : undefined
          }
          value={draft.values[name] ?? known.get(name) ?? ''}
          onChange={(value) => onChange({ ...draft, values: { ...draft.values, [name]: value } })}
          fault={fault(name)}
        />
      ))}
    </>
  )
}

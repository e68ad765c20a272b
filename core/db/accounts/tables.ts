import type { Generated } from 'kysely'

import type { Time } from '../columns.ts'

export interface AccountTables {
  person: {
    id: string
    /** In lower case. */
    email: string
    name: string
    /** Null: signs in through the identity provider alone. */
    password_hash: string | null
    /** Null: the address is not verified. */
    email_verified_at: Time | null
    created_at: Time
    updated_at: Time
  }
  membership: {
    organisation_id: string
    person_id: string
    role: string
    created_at: Time
  }
  session: {
    id: string
    token_hash: Buffer
    person_id: string
    authenticated_at: Time
    expires_at: Time
    window_started_at: Time
    window_requests: Generated<number>
    created_at: Time
  }
  account_link: {
    token_hash: Buffer
    kind: string
    person_id: string | null
    organisation_id: string | null
    /** The address that it was mailed to; null: it was printed. */
    email: string | null
    expires_at: Time
  }
  identity: {
    issuer: string
    subject: string
    person_id: string
    created_at: Time
  }
  agent: {
    id: string
    organisation_id: string
    /** The member that it belongs to. */
    person_id: string
    name: string
    token_hash: Buffer
    token_hint: string
    /** It never acts with more than this role; null: with that of its member. */
    role_max: Generated<string | null>
    /** The project that it acts in; null: none is selected. */
    project_id: string | null
    expires_at: Time | null
    revoked_at: Time | null
    window_started_at: Time | null
    last_used_from: string | null
    window_requests: Generated<number>
    created_at: Time
  }
  account_limit: {
    scope: string
    started_at: Time
    requests: number
  }
}

import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import { callAuth, type Role } from '../../api/auth.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/forms/fields.tsx'
import { Form, useAction } from '../../parts/forms/form.tsx'
import { Copyable } from '../../parts/words/copy.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useMembersAgain, useOrganisationPath } from '../../session/organisation.ts'
import { useSession } from '../../session/session.ts'

const ROLES = [
  ['member', 'Member: works with everything, deletes and reveals nothing'],
  ['admin', 'Admin: may all but make owners'],
  ['owner', 'Owner: may all'],
] as const

interface Invited {
  id: string
  url: string
  expiresAt: string
  isMailed: boolean
}

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const path = useOrganisationPath()
  const again = useMembersAgain()
  const { user } = useSession()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const action = useAction(
    () => callAuth<Invited>('POST', `${path}/invitations`, { email, role }),
    () => void again(),
  )
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      {action.result === undefined ? (
        <Form
          action={action}
          submit="Make the invitation"
          others={
            <button type="button" className="button" onClick={onClose}>
              Leave it
            </button>
          }
        >
          <TextField
            label="Email"
            type="email"
            required
            autoFocus
            autoComplete="off"
            value={email}
            onChange={setEmail}
            fault={action.fault('email')}
          />
          <SelectField
            label="Role"
            value={role}
            onChange={setRole}
            options={ROLES}
            fault={action.fault('role')}
          />
        </Form>
      ) : (
        <>
          <p>
            {action.result.isMailed
              ? `This link was mailed to ${email}.`
              : `Send this link to ${email}.`}{' '}
            It is shown this once, and good until <Time at={action.result.expiresAt} />.
          </p>
          {!user.isVerified && (
            <p className="muted">
              Nothing is mailed for you until you prove your address on the page{' '}
              <Link to="/me">Your account</Link>.
            </p>
          )}
          <Copyable text={action.result.url} name="link" />
          <div className="buttons">
            <button type="button" className="button" onClick={onClose}>
              Done
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}

import { useState } from 'react'

import { callAuth, type Agent, type Key, type Member, type Role } from '../../api/auth.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { useAction } from '../../parts/forms/form.tsx'
import { ActionFault } from '../../parts/states.tsx'
import { useMembersAgain, useOrganisationPath } from '../../session/organisation.ts'
import { OWNERS_ONLY, useProject } from '../../session/project.tsx'
import { useSession } from '../../session/session.ts'
import { keepQuery, MadeList } from './made-list.tsx'

const ROLES = ['owner', 'admin', 'member'] as const

/** The role of a member. Keys that may do more than a lower one are listed before they end. */
export function RoleField({ member }: { member: Member }) {
  const { mayAll } = useProject()
  const path = useOrganisationPath()
  const again = useMembersAgain()
  const [wanted, setWanted] = useState<Role>(member.role)
  const [isAsking, setAsking] = useState(false)
  const save = async (keep: readonly string[]) =>
    await callAuth('PATCH', `${path}/members/${member.id}${keepQuery(keep)}`, { role: wanted })
  const change = useAction(
    () => save([]),
    () => void again(),
  )
  return (
    <>
      <span className="buttons">
        <select
          aria-label={`Role of ${member.name}`}
          value={wanted}
          disabled={!mayAll}
          title={mayAll ? undefined : OWNERS_ONLY}
          onChange={(event) => {
            const role = ROLES.find((each) => each === event.target.value)
            if (role !== undefined) setWanted(role)
          }}
        >
          {ROLES.map((role) => (
            <option key={role}>{role}</option>
          ))}
        </select>
        {wanted !== member.role && (
          <button
            type="button"
            className="button"
            disabled={change.isRunning}
            onClick={() => (wanted === 'member' ? setAsking(true) : change.run())}
          >
            Save
          </button>
        )}
      </span>
      <ActionFault error={change.error} />
      {isAsking && (
        <LowerRole
          member={member}
          onClose={() => setAsking(false)}
          run={async (keep) => {
            await save(keep)
            await again()
          }}
        />
      )}
    </>
  )
}

function LowerRole({
  member,
  onClose,
  run,
}: {
  member: Member
  onClose: () => void
  run: (keep: readonly string[]) => Promise<void>
}) {
  const { user } = useSession()
  const [keep, setKeep] = useState<string[]>([])
  const isSelf = member.id === user.id
  return (
    <Confirm
      title={`Make ${member.name} a member?`}
      action="Change the role"
      isDanger
      onClose={onClose}
      run={() => run(keep)}
    >
      <p>
        Keys that they made and that may do more than a member end, for good
        {isSelf ? '.' : '; those that you keep become yours.'}
      </p>
      <MadeList
        member={member}
        ends={exceedsMember}
        keep={keep}
        {...(isSelf ? {} : { onChange: setKeep })}
      />
    </Confirm>
  )
}

/** Agents follow the role of their member. */
function exceedsMember(one: Key | Agent): boolean {
  return 'permissions' in one && one.permissions?.['billing'] === 'write'
}

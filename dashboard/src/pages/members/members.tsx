import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import { callAuth, type Member, type Role } from '../../api/auth.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { useAction } from '../../parts/forms/form.tsx'
import { ActionTable } from '../../parts/lists/action-table.tsx'
import { ActionFault, Loaded } from '../../parts/states.tsx'
import { counted } from '../../parts/words/numbers.ts'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { Time } from '../../parts/words/time.tsx'
import { OWNERS_ONLY, useProject } from '../../shell/project.tsx'
import { forgetProject, useSession } from '../../shell/session.ts'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { useInvitations, useMembers, useMembersAgain, useOrganisationPath } from './queries.ts'

export const ROLES = ['owner', 'admin', 'member'] as const

export function Members() {
  const { mayAll } = useProject()
  const members = useMembers()
  const [isInviting, setInviting] = useState(false)
  return (
    <>
      <header>
        <PageTitle>Members</PageTitle>
        <Seats members={members.data?.length} />
        <div className="buttons">
          <button
            type="button"
            className="button main"
            aria-disabled={!mayAll}
            title={mayAll ? undefined : OWNERS_ONLY}
            onClick={() => mayAll && setInviting(true)}
          >
            Invite…
          </button>
        </div>
      </header>
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
      <Loaded query={members} noun="The list">
        {(data) => (
          <ActionTable columns={['Name', 'Email', 'Last seen', 'Role']}>
            {data.map((member) => (
              <MemberRow key={member.id} member={member} />
            ))}
          </ActionTable>
        )}
      </Loaded>
      <Invitations />
    </>
  )
}

/** Members and open invitations take seats; a member does not see the invitations. */
function Seats({ members }: { members: number | undefined }) {
  const { api, projectId, mayAll, organisation } = useProject()
  const { data: invitations } = useInvitations(mayAll)
  const { data } = useQuery({
    queryKey: [projectId, 'plan'],
    queryFn: () => api.getPlan(),
  })
  if (data === undefined || members === undefined) return null
  const { seats } = data.entitlements
  if (!mayAll) return <span className="muted">{counted(members, 'member')}</span>
  const taken = members + (invitations?.length ?? 0)
  return (
    <span className="muted">
      {taken} of {seats ?? 'any number of'} {seats === 1 ? 'seat' : 'seats'}, {data.plan} plan
      {seats !== null && taken >= seats && (
        <>
          .{' '}
          <Link to="/org/$organisationId/plan" params={{ organisationId: organisation.id }}>
            A larger plan
          </Link>{' '}
          has more
        </>
      )}
    </span>
  )
}

function MemberRow({ member }: { member: Member }) {
  const { mayAll } = useProject()
  const { user } = useSession()
  const path = useOrganisationPath()
  const again = useMembersAgain()
  const isSelf = member.id === user.id
  const [wanted, setWanted] = useState<Role>(member.role)
  const change = useAction(
    () => callAuth('PATCH', `${path}/members/${member.id}`, { role: wanted }),
    () => void again(),
  )
  return (
    <tr>
      <td>
        {member.name}
        {isSelf && <span className="muted"> (you)</span>}
      </td>
      <td data-label="Email">{member.email}</td>
      <td data-label="Last seen">
        {member.lastSeenAt === null ? (
          <span className="muted">not signed in</span>
        ) : (
          <Time at={member.lastSeenAt} withAge />
        )}
      </td>
      <td data-label="Role">
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
              onClick={change.run}
            >
              Save
            </button>
          )}
        </span>
        <ActionFault error={change.error} />
      </td>
      <td>
        <DangerAction
          name="Remove…"
          title={`Remove ${member.name}?`}
          action="Remove"
          isAllowed={mayAll || isSelf}
          run={async () => {
            await callAuth('DELETE', `${path}/members/${member.id}`)
            if (isSelf) leave()
            else await again()
          }}
        >
          <p>
            The next request of this person is refused. The keys and agents that they made end, for
            good.
          </p>
        </DangerAction>
      </td>
    </tr>
  )
}

/** Begins anew, with what the person still belongs to. */
function leave(): void {
  forgetProject()
  location.assign('/')
}

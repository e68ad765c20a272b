import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'

import type { Member } from '../../api/auth.ts'
import { ActionTable } from '../../parts/lists/action-table.tsx'
import { Loaded } from '../../parts/states.tsx'
import { counted } from '../../parts/words/numbers.ts'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useInvitations, useMembers } from '../../session/organisation.ts'
import { OWNERS_ONLY, useProject } from '../../session/project.tsx'
import { useSession } from '../../session/session.ts'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { RemoveMember } from './remove-member.tsx'
import { RoleField } from './role-field.tsx'

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
  const { user } = useSession()
  return (
    <tr>
      <td>
        {member.name}
        {member.id === user.id && <span className="muted"> (you)</span>}
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
        <RoleField member={member} />
      </td>
      <td>
        <RemoveMember member={member} />
      </td>
    </tr>
  )
}

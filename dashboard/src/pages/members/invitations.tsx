import { callAuth } from '../../api/auth.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { ActionTable } from '../../parts/lists/action-table.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useInvitations, useMembersAgain, useOrganisationPath } from '../../session/organisation.ts'
import { useProject } from '../../session/project.tsx'

/** Open invitations: they hold a seat until they are accepted, revoked or past their time. */
export function Invitations() {
  const { mayAll } = useProject()
  const path = useOrganisationPath()
  const again = useMembersAgain()
  const { data } = useInvitations(mayAll)
  if (data === undefined || data.length === 0) return null
  return (
    <section className="section">
      <h2>Open invitations</h2>
      <ActionTable columns={['Email', 'Role', 'Good until']}>
        {data.map(({ id, email, role, expiresAt }) => (
          <tr key={id}>
            <td>{email}</td>
            <td data-label="Role">{role}</td>
            <td data-label="Good until">
              <Time at={expiresAt} withAge />
            </td>
            <td>
              <DangerAction
                name="Revoke…"
                title={`Revoke the invitation of ${email}?`}
                action="Revoke"
                run={async () => {
                  await callAuth('DELETE', `${path}/invitations/${id}`)
                  await again()
                }}
              >
                <p>Its link is good no more, and its seat is free.</p>
              </DangerAction>
            </td>
          </tr>
        ))}
      </ActionTable>
    </section>
  )
}

import { useState } from 'react'

import { callAuth, type Member } from '../../api/auth.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { useMembersAgain, useOrganisationPath } from '../../session/organisation.ts'
import { useProject } from '../../session/project.tsx'
import { forgetProject, useSession } from '../../session/session.ts'
import { keepQuery, MadeList } from './made-list.tsx'

/** Removes another member, whose keys and agents the remover may keep, or oneself. */
export function RemoveMember({ member }: { member: Member }) {
  const { mayAll } = useProject()
  const { user } = useSession()
  const path = useOrganisationPath()
  const again = useMembersAgain()
  const [keep, setKeep] = useState<string[]>([])
  const isSelf = member.id === user.id
  return (
    <DangerAction
      name="Remove…"
      title={`Remove ${member.name}?`}
      action="Remove"
      isAllowed={mayAll || isSelf}
      run={async () => {
        await callAuth('DELETE', `${path}/members/${member.id}${keepQuery(keep)}`)
        if (isSelf) leave()
        else await again()
      }}
    >
      <p>
        The next request of this person is refused. The keys and agents that they made end for good
        {isSelf ? '.' : ', but for those that you keep: these become yours, and go on working.'}
      </p>
      <MadeList member={member} keep={keep} {...(isSelf ? {} : { onChange: setKeep })} />
    </DangerAction>
  )
}

/** Begins anew, with what the person still belongs to. */
function leave(): void {
  forgetProject()
  location.assign('/')
}

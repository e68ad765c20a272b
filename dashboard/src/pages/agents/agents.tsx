import type { Agent } from '../../api/auth.ts'
import { useProject } from '../../session/project.tsx'
import { useSession } from '../../session/session.ts'
import { SecretPage } from '../secrets/secret-page.tsx'
import { SecretRow } from '../secrets/secret-row.tsx'
import { NewAgent } from './new-agent.tsx'

export function Agents() {
  return (
    <SecretPage
      kind="agent"
      column="Member"
      about={
        <>
          An agent is a program, such as an assistant in your editor, that looks into webhooks and
          sends them again for you, over MCP at <code>{location.origin}/mcp</code>. It may what you
          may, at each call, but deletes nothing and sees no secret.
        </>
      }
      advice="Make one for each program that is to ask why a webhook was not delivered."
      dialog={(onClose) => <NewAgent onClose={onClose} />}
      row={(agent) => <AgentRow key={agent.id} agent={agent} />}
    />
  )
}

function AgentRow({ agent }: { agent: Agent }) {
  const { mayAll } = useProject()
  const { user } = useSession()
  return (
    <SecretRow
      kind="agent"
      secret={agent}
      hint={agent.tokenHint}
      column="Member"
      cell={agent.memberEmail}
      noProject={<span className="muted">none selected</span>}
      mayChange={mayAll || agent.memberId === user.id}
      warning="The next call with this token is refused."
    />
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { callAuth, type Agent } from '../../api/auth.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { shortId } from '../../parts/words/numbers.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../shell/project.tsx'
import { useReach, useSession } from '../../shell/session.ts'
import { useOrganisationPath } from '../members/queries.ts'
import { NewAgent } from './new-agent.tsx'

export function Agents() {
  const path = useOrganisationPath()
  const [isMaking, setMaking] = useState(false)
  const agents = useQuery({
    queryKey: [path, 'agents'],
    queryFn: () => callAuth<{ data: Agent[] }>('GET', `${path}/agents`).then(({ data }) => data),
  })
  return (
    <>
      <header>
        <h1>Agents</h1>
        <div className="buttons">
          <button type="button" className="button main" onClick={() => setMaking(true)}>
            New agent
          </button>
        </div>
      </header>
      <p className="muted">
        An agent is a program, such as an assistant in your editor, that looks into webhooks and
        sends them again for you, over MCP at <code>{location.origin}/mcp</code>. It may what you
        may, at each call, but deletes nothing and sees no secret.
      </p>
      {isMaking && <NewAgent onClose={() => setMaking(false)} />}
      <Loaded query={agents} noun="The list">
        {(data) =>
          data.length === 0 ? (
            <Empty title="No agent yet">
              <p>Make one for each program that is to ask why a webhook was not delivered.</p>
            </Empty>
          ) : (
            <table className="table cards">
              <thead>
                <tr>
                  <th>Agent</th>
                  <th>Member</th>
                  <th>Project</th>
                  <th>Expires</th>
                  <th>Last used</th>
                  <th>
                    <span className="unseen">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((agent) => (
                  <AgentRow key={agent.id} agent={agent} />
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </>
  )
}

function AgentRow({ agent }: { agent: Agent }) {
  const { mayAll } = useProject()
  const { user } = useSession()
  const path = useOrganisationPath()
  const client = useQueryClient()
  const selected = useReach()?.find(({ project }) => project.id === agent.projectId)?.project.name
  const isDead = agent.revokedAt !== null
  return (
    <tr className={isDead ? 'dim' : undefined}>
      <td>
        {agent.name} <code className="muted">{agent.tokenHint}</code>{' '}
        {isDead && <StatusMark status="revoked" />}
      </td>
      <td data-label="Member">{agent.memberEmail}</td>
      <td data-label="Project">
        {agent.projectId === null ? (
          <span className="muted">none selected</span>
        ) : (
          (selected ?? shortId(agent.projectId))
        )}
      </td>
      <td data-label="Expires">
        {agent.expiresAt === null ? 'never' : <Time at={agent.expiresAt} withAge />}
      </td>
      <td data-label="Last used">
        {agent.lastUsedAt === null ? (
          <span className="muted">never</span>
        ) : (
          <Time at={agent.lastUsedAt} withAge />
        )}
      </td>
      <td>
        {!isDead && (
          <DangerAction
            name="Revoke…"
            title={`Revoke ${agent.name}?`}
            action="Revoke"
            isAllowed={mayAll || agent.memberId === user.id}
            run={async () => {
              await callAuth('DELETE', `${path}/agents/${agent.id}`)
              await client.invalidateQueries({ queryKey: [path, 'agents'] })
            }}
          >
            <p>The next call with this token is refused. This cannot be taken back.</p>
          </DangerAction>
        )}
      </td>
    </tr>
  )
}

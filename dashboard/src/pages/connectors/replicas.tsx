import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { ActionTable } from '../../parts/lists/action-table.tsx'
import { Loaded } from '../../parts/states.tsx'
import { whole } from '../../parts/words/numbers.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time, timeText } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import { useReplicas } from './queries.ts'

type Replica = Schemas['Replica']

/** Proof of life: who is there, and when it was last heard. */
export function Replicas({ connectorId }: { connectorId: string }) {
  const replicas = useReplicas(connectorId)
  const happened = useHappened(replicas.data?.data)
  return (
    <section className="section">
      <header>
        <h2>Replicas</h2>
        <span className="muted">looked at again every 2 s</span>
      </header>
      <Loaded query={replicas} noun="The list">
        {({ data }) =>
          data.length === 0 ? (
            <p className="muted">No agent has enrolled yet.</p>
          ) : (
            <ActionTable
              columns={['Replica', 'Status', 'Heartbeat', 'In flight', 'Version', 'From', 'Since']}
            >
              {data.map((replica) => (
                <ReplicaRow key={replica.id} replica={replica} />
              ))}
            </ActionTable>
          )
        }
      </Loaded>
      {happened.length > 0 && (
        <>
          <h3>While you watched</h3>
          <ul aria-live="polite">
            {happened.map(({ at, text }) => (
              <li key={at + text}>
                <span className="mono muted">{timeText(at)}</span> {text}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

function ReplicaRow({ replica }: { replica: Replica }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const revoke = async () => {
    await api.revokeReplica({ id: replica.connectorId, replicaId: replica.id })
    await client.invalidateQueries({ queryKey: [projectId, 'replicas', replica.connectorId] })
  }
  return (
    <tr className={replica.status === 'online' ? undefined : 'dim'}>
      <td>{replica.name}</td>
      <td data-label="Status">
        <StatusMark status={replica.status} />
      </td>
      <td data-label="Heartbeat">
        <Time at={replica.lastHeartbeatAt} withAge />
      </td>
      <td data-label="In flight" className="mono whole">
        {whole(replica.inFlight)}
      </td>
      <td data-label="Version" className="mono whole">
        {replica.version}
      </td>
      <td data-label="From" className="mono">
        {replica.remoteIp}
      </td>
      <td data-label="Since">
        <Time at={replica.startedAt} />
      </td>
      <td>
        {replica.status !== 'revoked' && (
          <DangerAction
            name="Revoke…"
            title={`Revoke ${replica.name}?`}
            action="Revoke"
            run={revoke}
          >
            <p>Its session ends within a second, and its token is refused from then on.</p>
          </DangerAction>
        )}
      </td>
    </tr>
  )
}

interface Happening {
  at: string
  text: string
}

const KEPT = 20

/** Replicas that came and went since the page was opened. */
function useHappened(replicas: readonly Replica[] | undefined): readonly Happening[] {
  const before = useRef<ReadonlyMap<string, Replica['status']>>(undefined)
  const [happened, setHappened] = useState<readonly Happening[]>([])
  useEffect(() => {
    if (replicas === undefined) return
    const known = before.current
    before.current = new Map(replicas.map(({ id, status }) => [id, status]))
    if (known === undefined) return
    const at = new Date().toISOString()
    const news = replicas
      .filter(({ id, status }) => known.get(id) !== status)
      .map(({ name, status }) => ({ at, text: `${name} ${WORDS[status]}` }))
    if (news.length > 0) setHappened((list) => [...news, ...list].slice(0, KEPT))
  }, [replicas])
  return happened
}

const WORDS: Record<Replica['status'], string> = {
  online: 'came online',
  offline: 'went offline',
  revoked: 'was revoked',
}

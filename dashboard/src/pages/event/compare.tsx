import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { TextField } from '../../parts/forms/fields.tsx'
import { Loaded } from '../../parts/states.tsx'
import { useProject } from '../../session/project.tsx'
import { differences } from './differences.ts'

const EVENT_ID = /^evt_[0-9a-z]{26}$/

/** Two bodies, member by member. */
export function Compare({ event }: { event: Schemas['Event'] }) {
  const { api, projectId } = useProject()
  const [written, setWritten] = useState('')
  const id = written.trim()
  const other = useQuery({
    queryKey: [projectId, 'event', id],
    queryFn: () => api.getEvent({ id }),
    enabled: EVENT_ID.test(id),
    staleTime: Infinity,
  })
  return (
    <div className="form">
      <TextField
        label="Compare with the event"
        placeholder="evt_…"
        isMono
        value={written}
        onChange={setWritten}
      />
      {EVENT_ID.test(id) && (
        <Loaded query={other} noun="That event">
          {(found) => <Differences before={found.payload} after={event.payload} />}
        </Loaded>
      )}
    </div>
  )
}

function Differences({ before, after }: { before: unknown; after: unknown }) {
  const found = differences(before, after)
  if (found.length === 0) return <p>Both bodies say the same.</p>
  return (
    <div className="wide">
      <table className="table">
        <thead>
          <tr>
            <th>Member</th>
            <th>There</th>
            <th>Here</th>
          </tr>
        </thead>
        <tbody>
          {found.map(({ path, there, here }) => (
            <tr key={path}>
              <td className="mono">{path}</td>
              <td className="mono">{there ?? <span className="muted">absent</span>}</td>
              <td className="mono">{here ?? <span className="muted">absent</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

import { useQueries } from '@tanstack/react-query'

import type { Schemas } from '../../../api/client.ts'
import { StatusShape } from '../../../parts/words/status.tsx'
import { useProject } from '../../../session/project.tsx'
import { actualOf, clausesOf, type Filter } from './clauses.ts'

const CLAUSES_MAX = 20

/** Each clause with a tick or a cross and the value that the event has there. The server decides, as at ingest. */
export function ClauseRows({ filter, event }: { filter: Filter; event: Schemas['Event'] }) {
  const { api, projectId } = useProject()
  const clauses = clausesOf(filter).slice(0, CLAUSES_MAX)
  const answers = useQueries({
    queries: clauses.map(({ alone }) => ({
      queryKey: [projectId, 'clause', event.id, alone],
      queryFn: () => api.testFilter({ body: { filter: alone, eventId: event.id } }),
      staleTime: Infinity,
      retry: false,
    })),
  })
  if (clauses.length === 0) return <p>The filter is empty: everything passes.</p>
  return (
    <table className="table cards">
      <thead>
        <tr>
          <th>Clause</th>
          <th>Wanted</th>
          <th>The event has</th>
          <th>Passes</th>
        </tr>
      </thead>
      <tbody>
        {clauses.map(({ path, operator, value }, index) => (
          <tr key={`${path} ${operator}`}>
            <td className="mono">{path}</td>
            <td className="mono" data-label="Wanted">
              {operator} {JSON.stringify(value)}
            </td>
            <td className="mono" data-label="The event has">
              {written(actualOf(event, path))}
            </td>
            <td data-label="Passes">
              <Passes answer={answers[index]?.data} error={answers[index]?.error ?? null} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Passes({
  answer,
  error,
}: {
  answer: Schemas['FilterMatch'] | undefined
  error: Error | null
}) {
  if (error !== null) return <span className="muted">{error.message}</span>
  if (answer === undefined) return <span className="muted">…</span>
  return (
    <span className="status">
      <StatusShape status={answer.matched ? 'succeeded' : 'rejected'} title="" />
      {answer.matched ? 'yes' : 'no'}
    </span>
  )
}

function written(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}

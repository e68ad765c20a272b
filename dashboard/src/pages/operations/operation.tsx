import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

import type { Schemas } from '../../api/client.ts'
import { KINDS } from '../../parts/bulk/kinds.ts'
import { Scope } from '../../parts/bulk/scope.tsx'
import { useAction } from '../../parts/forms/form.tsx'
import { ActionFault, Loaded } from '../../parts/states.tsx'
import { toast } from '../../parts/toast.tsx'
import { counted, span, whole } from '../../parts/words/numbers.ts'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'

import './operation.css'

type Operation = Schemas['Operation']

export function OperationPage() {
  const { operationId } = useParams({ from: '/inside/p/$projectId/operations/$operationId' })
  const { api, projectId } = useProject()
  const operation = useQuery({
    queryKey: [projectId, 'operation', operationId],
    queryFn: () => api.getOperation({ id: operationId }),
    refetchInterval: ({ state: { data } }) => (data?.status === 'running' ? 700 : false),
  })
  useNoticeOfEnd(operation.data)
  const cancel = useAction(
    () => api.cancelOperation({ id: operationId }),
    () => void operation.refetch(),
  )
  return (
    <Loaded query={operation} noun="The operation">
      {(found) => (
        <>
          <header>
            <div>
              <PageTitle>
                {KINDS[found.kind].verb} {KINDS[found.kind].nouns}
              </PageTitle>
              <p className="tags muted">
                <StatusMark status={found.status} />
                <Time at={found.createdAt} withAge />
                <code>{found.id}</code>
              </p>
            </div>
            {found.status === 'running' && (
              <div className="buttons">
                <button
                  type="button"
                  className="button danger"
                  disabled={cancel.isRunning}
                  onClick={cancel.run}
                >
                  Stop it
                </button>
              </div>
            )}
          </header>
          <ActionFault error={cancel.error} />
          <Progress operation={found} />
          <Failures failures={found.failures} />
          <section className="section">
            <h2>Scope</h2>
            <Scope filter={found.filter} />
          </section>
        </>
      )}
    </Loaded>
  )
}

function useNoticeOfEnd(operation: Operation | undefined): void {
  const before = useRef<Operation['status']>(undefined)
  useEffect(() => {
    if (before.current === 'running' && operation?.status === 'completed') {
      toast(`The operation is done: ${whole(operation.processed)} processed`)
    }
    before.current = operation?.status
  }, [operation])
}

function Progress({ operation }: { operation: Operation }) {
  const { matched, processed, failed, truncated, createdAt, finishedAt } = operation
  const took = (finishedAt === null ? Date.now() : Date.parse(finishedAt)) - Date.parse(createdAt)
  const { noun, nouns } = KINDS[operation.kind]
  const rate = took > 0 ? Math.round((processed / took) * 1000) : 0
  return (
    <section className="form">
      <progress max={Math.max(matched, processed, 1)} value={processed} aria-label="Progress" />
      <p>
        <strong>
          {whole(processed)} of {truncated ? 'more than ' : ''}
          {counted(matched, noun, nouns)}
        </strong>
        , {whole(failed)} of them refused, in {span(took)}
        {processed > 0 && <> ({whole(rate)} a second)</>}
      </p>
    </section>
  )
}

function Failures({ failures }: { failures: Operation['failures'] }) {
  const reasons = Object.entries(failures)
  if (reasons.length === 0) return null
  return (
    <section className="section">
      <h2>Refused, by reason</h2>
      <table className="table">
        <tbody>
          {reasons.map(([reason, count]) => (
            <tr key={reason}>
              <th scope="row">{reason}</th>
              <td className="number">{whole(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

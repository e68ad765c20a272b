import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { KINDS } from '../../parts/bulk/kinds.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { shortId, whole } from '../../parts/words/numbers.ts'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'

export function Operations() {
  const { api, projectId } = useProject()
  const operations = useQuery({
    queryKey: [projectId, 'operations'],
    queryFn: () => api.listOperations({ limit: 100 }),
    refetchInterval: ({ state: { data } }) =>
      data?.data.some(({ status }) => status === 'running') === true ? 1000 : false,
  })
  return (
    <>
      <header>
        <PageTitle>Operations</PageTitle>
      </header>
      <Loaded query={operations} noun="The list">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No bulk work was done yet">
              <p>
                Filter{' '}
                <Link to="/p/$projectId/events" params={{ projectId }}>
                  events
                </Link>{' '}
                or{' '}
                <Link to="/p/$projectId/deliveries" params={{ projectId }}>
                  deliveries
                </Link>
                , then replay, retry or cancel everything that matches.
              </p>
            </Empty>
          ) : (
            <table className="table cards">
              <thead>
                <tr>
                  <th>Operation</th>
                  <th>Status</th>
                  <th>Done</th>
                  <th>Refused</th>
                  <th>Begun</th>
                </tr>
              </thead>
              <tbody>
                {data.map((operation) => (
                  <tr key={operation.id}>
                    <td>
                      <Link
                        to="/p/$projectId/operations/$operationId"
                        params={{ projectId, operationId: operation.id }}
                      >
                        {KINDS[operation.kind].verb} {KINDS[operation.kind].nouns},{' '}
                        {shortId(operation.id)}
                      </Link>
                    </td>
                    <td data-label="Status">
                      <StatusMark status={operation.status} />
                    </td>
                    <td data-label="Done" className="mono whole">
                      {whole(operation.processed)} of {whole(operation.matched)}
                      {operation.truncated && '+'}
                    </td>
                    <td data-label="Refused" className="mono whole">
                      {whole(operation.failed)}
                    </td>
                    <td data-label="Begun">
                      <Time at={operation.createdAt} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </>
  )
}

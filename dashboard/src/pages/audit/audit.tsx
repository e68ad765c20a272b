import { useInfiniteQuery } from '@tanstack/react-query'

import { callAuth, type AuditEntry } from '../../api/auth.ts'
import { More } from '../../parts/lists/more.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useOrganisationPath } from '../../session/organisation.ts'

interface Page {
  data: AuditEntry[]
  nextCursor: string | null
}

/** Who did what, newest first. */
export function Audit() {
  const path = useOrganisationPath()
  const audit = useInfiniteQuery({
    queryKey: [path, 'audit'],
    queryFn: ({ pageParam }) =>
      callAuth<Page>(
        'GET',
        `${path}/audit?limit=100${pageParam === null ? '' : `&cursor=${encodeURIComponent(pageParam)}`}`,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })
  return (
    <>
      <header>
        <PageTitle>Audit</PageTitle>
      </header>
      <Loaded query={audit} noun="The audit">
        {({ pages }) => {
          const entries = pages.flatMap(({ data }) => data)
          if (entries.length === 0) return <Empty title="Nothing was changed yet" />
          return (
            <table className="table cards">
              <thead>
                <tr>
                  <th>When</th>
                  <th>Who</th>
                  <th>From</th>
                  <th>Did</th>
                  <th>To</th>
                  <th>Changes</th>
                </tr>
              </thead>
              <tbody>
                {entries.map((entry) => (
                  <Entry key={entry.id} entry={entry} />
                ))}
              </tbody>
            </table>
          )
        }}
      </Loaded>
      <More query={audit} />
    </>
  )
}

function Entry({ entry }: { entry: AuditEntry }) {
  const changes = JSON.stringify(entry.changes)
  const [kind, id] = entry.actor.split(':')
  return (
    <tr>
      <td>
        <Time at={entry.at} />
      </td>
      <td data-label="Who">
        <span>
          {id === undefined ? (
            kind
          ) : (
            <>
              {kind !== 'user' && `${kind} `}
              {entry.actorName} <code className="muted">{id}</code>
            </>
          )}
        </span>
      </td>
      <td data-label="From" className="mono">
        {entry.address}
      </td>
      <td data-label="Did">{entry.action.replaceAll(/[._-]/g, ' ')}</td>
      <td data-label="To" className="mono">
        {entry.subjectId}
      </td>
      <td data-label="Changes">
        {changes === '{}' ? (
          ''
        ) : (
          <details>
            <summary>Show</summary>
            <pre className="wrap">{JSON.stringify(entry.changes, null, 2)}</pre>
          </details>
        )}
      </td>
    </tr>
  )
}

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { LastDay, useLastDay } from '../../parts/charts/last-day.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { providerName } from '../../parts/verifier/presets.ts'
import { CopyButton } from '../../parts/words/copy.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../shell/project.tsx'

export function Sources() {
  const { api, projectId } = useProject()
  const lastDay = useLastDay('source')
  const sources = useQuery({
    queryKey: [projectId, 'sources'],
    queryFn: () => api.listSources({ limit: 100, sortBy: 'name', sortDir: 'asc' }),
    refetchInterval: 10_000,
  })
  const create = (
    <Link to="/p/$projectId/sources/new" params={{ projectId }} className="button main">
      New source
    </Link>
  )
  return (
    <>
      <header>
        <PageTitle>Sources</PageTitle>
        <div className="buttons">{create}</div>
      </header>
      <Loaded query={sources} noun="The list">
        {({ data, nextCursor }) =>
          data.length === 0 ? (
            <Empty title="No source yet">
              <p>
                A source is an address for one provider, or for mail. It verifies and stores what
                comes to it.
              </p>
              {create}
            </Empty>
          ) : (
            <>
              <table className="table cards">
                <thead>
                  <tr>
                    <th>Source</th>
                    <th>Status</th>
                    <th>Last 24 hours</th>
                    <th>Verifier</th>
                    <th>Last event</th>
                    <th>Address</th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((source) => (
                    <tr key={source.id}>
                      <td>
                        <Link
                          to="/p/$projectId/sources/$sourceId"
                          params={{ projectId, sourceId: source.id }}
                        >
                          {source.name}
                        </Link>
                      </td>
                      <td data-label="Status">
                        <StatusMark status={source.isEnabled ? 'enabled' : 'disabled'} />
                      </td>
                      <td data-label="Last 24 hours">
                        <LastDay buckets={lastDay.get(source.id)} />
                      </td>
                      <td data-label="Verifier">{verifierWord(source.verifier)}</td>
                      <td data-label="Last event">
                        {source.lastEventAt === null ? (
                          <span className="muted">none yet</span>
                        ) : (
                          <Time at={source.lastEventAt} withAge />
                        )}
                      </td>
                      <td data-label="Address">
                        <CopyButton
                          text={source.ingestAddress ?? source.ingestUrl}
                          label="Copy address"
                        />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {nextCursor !== null && (
                <p className="muted">The first 100 by name are shown; Ctrl K opens others by id.</p>
              )}
            </>
          )
        }
      </Loaded>
    </>
  )
}

export function verifierWord(verifier: {
  type: string
  preset?: string
  require?: string
}): string {
  const { type, preset, require } = verifier
  if (preset !== undefined) return providerName(preset)
  if (type === 'email') return require === 'none' ? 'none' : (require ?? type).toUpperCase()
  return type === 'none' ? 'none' : type.replaceAll('_', ' ')
}

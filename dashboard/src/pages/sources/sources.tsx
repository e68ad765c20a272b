import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { LastDay, useLastDay } from '../../parts/charts/last-day.tsx'
import { NamedList } from '../../parts/lists/named-list.tsx'
import { verifierWord } from '../../parts/verifier/presets.ts'
import { CopyButton } from '../../parts/words/copy.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'

export function Sources() {
  const { api, projectId } = useProject()
  const lastDay = useLastDay('source')
  const sources = useQuery({
    queryKey: [projectId, 'sources'],
    queryFn: () => api.listSources({ limit: 100, sortBy: 'name', sortDir: 'asc' }),
    refetchInterval: 10_000,
  })
  return (
    <NamedList
      title="Sources"
      query={sources}
      create={
        <Link to="/p/$projectId/sources/new" params={{ projectId }} className="button main">
          New source
        </Link>
      }
      empty={{
        title: 'No source yet',
        text: 'A source is an address for one provider, or for mail. It verifies and stores what comes to it.',
      }}
      columns={['Source', 'Status', 'Last 24 hours', 'Verifier', 'Last event', 'Address']}
      cells={(source) => (
        <>
          <td>
            <Link to="/p/$projectId/sources/$sourceId" params={{ projectId, sourceId: source.id }}>
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
            <CopyButton text={source.ingestAddress ?? source.ingestUrl} label="Copy address" />
          </td>
        </>
      )}
    />
  )
}

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { useNames } from '../../parts/names/names.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../shell/project.tsx'

const SOON_MS = 24 * 3_600_000

/** All that needs a person now. Silent when all is well. */
export function Attention() {
  const { api, projectId } = useProject()
  const { sources, destinations } = useNames()
  const { data: connectors } = useQuery({
    queryKey: [projectId, 'connectors'],
    queryFn: () => api.listConnectors({ limit: 100, sortBy: 'name', sortDir: 'asc' }),
    refetchInterval: 10_000,
  })
  const sick = destinations.filter(
    ({ health, disabledReason }) => health === 'failing' || disabledReason !== null,
  )
  const offline =
    connectors?.data.filter(
      ({ isDisabled, onlineReplicas, lastSeenAt }) =>
        !isDisabled && onlineReplicas === 0 && lastSeenAt !== null,
    ) ?? []
  const ending = sources.flatMap((source) => {
    const ends = source.secretRotation?.previousExpiresAt
    const isSoon = ends !== undefined && Date.parse(ends) - Date.now() < SOON_MS
    return isSoon && (source.secretRotation?.previous.count ?? 0) > 0 ? [{ source, ends }] : []
  })
  if (sick.length + offline.length + ending.length === 0) return null
  return (
    <section className="section" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {sick.map(({ id, name, disabledReason }) => (
          <li key={id}>
            <StatusMark status={disabledReason === null ? 'failing' : 'disabled'} />{' '}
            <Link
              to="/p/$projectId/destinations/$destinationId"
              params={{ projectId, destinationId: id }}
            >
              {name}
            </Link>
            : {disabledReason === null ? 'every attempt fails' : 'Postern switched it off'}
          </li>
        ))}
        {offline.map(({ id, name, lastSeenAt }) => (
          <li key={id}>
            <StatusMark status="offline" />{' '}
            <Link
              to="/p/$projectId/connectors/$connectorId"
              params={{ projectId, connectorId: id }}
            >
              {name}
            </Link>
            : no replica
            {lastSeenAt !== null && (
              <>
                {' '}
                since <Time at={lastSeenAt} />
              </>
            )}
          </li>
        ))}
        {ending.map(({ source: { id, name }, ends }) => (
          <li key={id}>
            <StatusMark status="busy" word="Rotation" />{' '}
            <Link
              to="/p/$projectId/sources/$sourceId"
              params={{ projectId, sourceId: id }}
              search={{ tab: 'rotation' }}
            >
              {name}
            </Link>
            : the previous secret is still used and ends <Time at={ends} withAge />
          </li>
        ))}
      </ul>
    </section>
  )
}

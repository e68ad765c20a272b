import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { useNames } from '../../parts/names/names.ts'
import { whole } from '../../parts/words/numbers.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import { useUsage } from '../../session/usage.ts'

const SOON_MS = 24 * 3_600_000
/** The share of the quota from which on it is told. */
const QUOTA_NEAR = 0.8

/** Whoever switched a destination off knows of it. */
const isSick = ({ health, disabledReason }: Schemas['Destination']): boolean =>
  health === 'failing' || (disabledReason !== null && disabledReason !== 'manual')

/** All that needs a person now. Silent when all is well. */
export function Attention() {
  const { api, projectId, organisation } = useProject()
  const { sources, destinations } = useNames()
  const { data: connectors } = useQuery({
    queryKey: [projectId, 'connectors'],
    queryFn: () => api.listConnectors({ limit: 100, sortBy: 'name', sortDir: 'asc' }),
    refetchInterval: 10_000,
  })
  const sick = destinations.filter(isSick)
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
  const usage = useUsage().data
  const isQuotaNear =
    usage !== undefined && usage.limit !== null && usage.deliveries >= usage.limit * QUOTA_NEAR
  if (!isQuotaNear && sick.length + offline.length + ending.length === 0) return null
  return (
    <section className="section" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {isQuotaNear && (
          <li>
            <StatusMark status="busy" word="Quota" />{' '}
            <Link to="/org/$organisationId/plan" params={{ organisationId: organisation.id }}>
              {whole(usage.deliveries)} of {whole(usage.limit ?? 0)} deliveries
            </Link>{' '}
            are used; the next window begins <Time at={usage.resetAt} withAge />
          </li>
        )}
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

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import type { Schemas } from '../../../api/client.ts'
import { HealthStrip } from '../../../parts/charts/health-strip.tsx'
import { useNames } from '../../../parts/names/names.ts'
import { counted } from '../../../parts/words/numbers.ts'
import { DAY_MS } from '../../../parts/words/spans.ts'
import { timeText } from '../../../parts/words/time.tsx'
import { useProject } from '../../../session/project.tsx'
import { useAlerts } from '../../alerts/queries.ts'
import { TestDelivery } from './test-delivery.tsx'
import { attemptTimes, paceOf, spanOfSeconds } from './words.ts'

const DAYS = 7

type Destination = Schemas['Destination']

export function Health({ destination }: { destination: Destination }) {
  const { projectId } = useProject()
  const { connections, nameOf } = useNames()
  const own = connections.filter(({ destinationId }) => destinationId === destination.id)
  return (
    <>
      {destination.health === 'failing' && <Failing destination={destination} />}
      <Week destination={destination} />
      <section className="section">
        <h2>How it delivers</h2>
        <dl className="facts">
          <dt>Pace</dt>
          <dd>{paceOf(destination)}</dd>
          <dt>Attempts</dt>
          <dd>
            {counted(destination.retryPolicy.maxAttempts, 'attempt')}:{' '}
            {attemptTimes(destination.retryPolicy).map(spanOfSeconds).join(', ')}
          </dd>
          <dt>Waits for an answer</dt>
          <dd>{destination.timeoutMs / 1000} s</dd>
          <dt>Connections</dt>
          <dd>
            {own.length === 0 ? (
              <>
                none.{' '}
                <Link
                  to="/p/$projectId/connections/new"
                  params={{ projectId }}
                  search={{ destination: destination.id }}
                >
                  Create one
                </Link>
              </>
            ) : (
              own.map(({ id, name, sourceId }) => (
                <div key={id}>
                  <Link
                    to="/p/$projectId/connections/$connectionId"
                    params={{ projectId, connectionId: id }}
                  >
                    {name}
                  </Link>{' '}
                  <span className="muted">from {nameOf(sourceId)}</span>
                </div>
              ))
            )}
          </dd>
          {destination.connectorId !== null && (
            <>
              <dt>Connector</dt>
              <dd>
                <Link
                  to="/p/$projectId/connectors/$connectorId"
                  params={{ projectId, connectorId: destination.connectorId }}
                >
                  Show it
                </Link>
              </dd>
            </>
          )}
        </dl>
      </section>
      <TestDelivery destination={destination} />
    </>
  )
}

function Week({ destination }: { destination: Destination }) {
  const { projectId } = useProject()
  const buckets = useWeek(destination)
  const since = failedSince(buckets)
  return (
    <section className="form">
      <h2>The last 7 days</h2>
      <HealthStrip buckets={buckets} />
      <div className="buttons">
        <Link
          className="button"
          to="/p/$projectId/deliveries"
          params={{ projectId }}
          search={{ destination: destination.id }}
        >
          Its deliveries
        </Link>
        <Link
          className="button"
          to="/p/$projectId/deliveries"
          params={{ projectId }}
          search={{ destination: destination.id, status: 'failed' }}
        >
          The failed ones
        </Link>
        {since !== undefined && (
          <Link
            className="button"
            to="/p/$projectId/deliveries"
            params={{ projectId }}
            search={{ destination: destination.id, status: 'failed', from: since }}
          >
            Failed since {timeText(since)}
          </Link>
        )}
      </div>
    </section>
  )
}

/** The hour in which failures without a success between them began: the scope of a retry once the fault is mended. */
function failedSince(buckets: readonly Schemas['DashboardBucket'][]): string | undefined {
  const last = buckets.findLastIndex(({ deliveries }) => deliveries.succeeded > 0)
  return buckets.slice(Math.max(0, last)).find(({ deliveries }) => deliveries.failed > 0)?.start
}

/** How long it has failed and when it will be switched off, as its alert says it. */
function Failing({ destination }: { destination: Destination }) {
  const { projectId } = useProject()
  const alert = useAlerts('open').data?.data.find(({ subject }) => subject.id === destination.id)
  return (
    <p className="notice bad">
      <span>
        {alert === undefined ? 'Every attempt fails.' : `${alert.summary} ${alert.advice}`}{' '}
        <Link to="/p/$projectId/alerts" params={{ projectId }}>
          Alerts
        </Link>
      </span>
    </p>
  )
}

function useWeek(destination: Destination): readonly Schemas['DashboardBucket'][] {
  const { api, projectId } = useProject()
  const { data } = useQuery({
    queryKey: [projectId, 'health', destination.id],
    queryFn: () =>
      api.getDashboard({
        destinationId: destination.id,
        granularity: 'hour',
        from: new Date(Date.now() - DAYS * DAY_MS).toISOString(),
      }),
    refetchInterval: 30_000,
  })
  return data?.data ?? []
}

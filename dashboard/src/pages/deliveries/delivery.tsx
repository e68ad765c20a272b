import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { useKeys } from '../../parts/keys.ts'
import { useNames } from '../../parts/names/names.ts'
import { Purged } from '../../parts/retention/purged.tsx'
import { Loaded } from '../../parts/states.tsx'
import { CopyButton } from '../../parts/words/copy.tsx'
import { span } from '../../parts/words/numbers.ts'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time, useNow } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import { errorWords } from '../../timeline/error-words.ts'
import type { Timeline } from '../../timeline/lanes.ts'
import { TimelinePart } from '../event/timeline-part.tsx'
import { useRetry } from './use-retry.tsx'

type Delivery = Schemas['DeliveryWithAttempts']

export function DeliveryPage() {
  const { deliveryId } = useParams({ from: '/inside/p/$projectId/deliveries/$deliveryId' })
  const { api, projectId } = useProject()
  const delivery = useQuery({
    queryKey: [projectId, 'delivery', deliveryId],
    queryFn: () => api.getDelivery({ id: deliveryId }),
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && data.completedAt === null ? 2000 : false,
  })
  return (
    <Loaded query={delivery} noun="The delivery" missing={<Purged id={deliveryId} />}>
      {(found) => (
        <>
          <Header delivery={found} />
          <Standing delivery={found} />
          <OwnTimeline delivery={found} />
        </>
      )}
    </Loaded>
  )
}

function Header({ delivery }: { delivery: Delivery }) {
  const { nameOf } = useNames()
  const [retry, dialog] = useRetry()
  const { id, status } = delivery
  const mayRetry = status !== 'in_flight' && status !== 'throttled'
  useKeys({ r: () => mayRetry && retry(id), c: () => void navigator.clipboard.writeText(id) })
  return (
    <header>
      <div>
        <PageTitle>Delivery to {nameOf(delivery.destinationId)}</PageTitle>
        <p className="tags muted">
          <StatusMark status={status} />
          <Time at={delivery.createdAt} withAge />
          <code>{id}</code>
        </p>
      </div>
      <div className="buttons">
        <CopyButton text={id} label="Copy id" />
        {(status === 'pending' || status === 'throttled') && <CancelButton id={id} />}
        <button
          type="button"
          className="button main"
          disabled={!mayRetry}
          title={
            mayRetry
              ? undefined
              : `A delivery that is ${status.replace('_', ' ')} cannot be retried`
          }
          onClick={() => retry(id)}
        >
          Retry…
        </button>
      </div>
      {dialog}
    </header>
  )
}

function CancelButton({ id }: { id: string }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const cancel = async () => {
    await api.cancelDelivery({ id })
    await client.invalidateQueries({ queryKey: [projectId] })
  }
  return (
    <>
      <button type="button" className="button danger" onClick={() => setOpen(true)}>
        Cancel…
      </button>
      {isOpen && (
        <Confirm
          title="Cancel this delivery?"
          action="Cancel the delivery"
          isDanger
          onClose={() => setOpen(false)}
          run={cancel}
        >
          <p>No further attempt is made. It can be retried by hand later.</p>
        </Confirm>
      )}
    </>
  )
}

function Standing({ delivery }: { delivery: Delivery }) {
  const { projectId } = useProject()
  const { nameOf } = useNames()
  return (
    <dl className="facts">
      <dt>Event</dt>
      <dd>
        {delivery.eventId === null ? (
          'none: it is a test'
        ) : (
          <Link
            to="/p/$projectId/events/$eventId"
            params={{ projectId, eventId: delivery.eventId }}
            className="mono"
          >
            {delivery.eventId}
          </Link>
        )}
      </dd>
      <dt>Destination</dt>
      <dd>
        <Link
          to="/p/$projectId/destinations/$destinationId"
          params={{ projectId, destinationId: delivery.destinationId }}
        >
          {nameOf(delivery.destinationId)}
        </Link>
      </dd>
      <dt>Attempts</dt>
      <dd>
        {delivery.attemptCount} of {delivery.maxAttempts} spent
      </dd>
      {delivery.nextAttemptAt !== null && delivery.completedAt === null && (
        <>
          <dt>Next attempt</dt>
          <dd>
            <Time at={delivery.nextAttemptAt} withAge />
          </dd>
        </>
      )}
      {delivery.lastError !== null && (
        <>
          <dt>Last error</dt>
          <dd>
            {errorWords(delivery.lastError)} <code>{delivery.lastError}</code>
          </dd>
        </>
      )}
      {delivery.completedAt !== null && (
        <>
          <dt>Ended</dt>
          <dd>
            <Time at={delivery.completedAt} /> after{' '}
            {span(Date.parse(delivery.completedAt) - Date.parse(delivery.createdAt))}
          </dd>
        </>
      )}
    </dl>
  )
}

/** The picture of the event's page, with this lane alone. */
function OwnTimeline({ delivery }: { delivery: Delivery }) {
  const now = useNow()
  const timeline: Timeline = {
    verdict: {
      cause: 'retrying',
      sentence: `Delivery ${delivery.id}: ${delivery.status}`,
      since: delivery.createdAt,
      nextAt: delivery.nextAttemptAt,
      action: null,
    },
    phases: [],
    connections: [],
    deliveries: [delivery],
  }
  return <TimelinePart timeline={timeline} receivedAt={delivery.createdAt} now={now} />
}

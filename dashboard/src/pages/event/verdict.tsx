import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { useAction } from '../../parts/forms/form.tsx'
import { useNames } from '../../parts/names/names.ts'
import { toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import type { Timeline } from '../../timeline/lanes.ts'
import { useReplay } from '../events/use-replay.tsx'

type Cause = Schemas['Verdict']['cause']

const TONES: Record<Cause, 'bad' | 'busy' | 'place' | ''> = {
  rejected: 'bad',
  unmatched: 'busy',
  filtered: '',
  connection_disabled: 'busy',
  retrying: 'busy',
  connector_offline: 'bad',
  rate_limited: 'busy',
  destination_busy: 'busy',
  destination_saturated: 'busy',
  failed: 'bad',
  address_refused: 'bad',
  destination_disabled: 'bad',
  cancelled: '',
  delivered: 'place',
}

/** The answer to "why was this not delivered?", above everything else, with the action that helps. */
export function VerdictNotice({
  event,
  timeline,
}: {
  event: Schemas['Event']
  timeline: Timeline
}) {
  const { verdict } = timeline
  return (
    <div className={`notice ${TONES[verdict.cause]}`} role="status">
      <span>
        <strong>{verdict.sentence}</strong>{' '}
        <span className="muted">
          since <Time at={verdict.since} />
          {verdict.nextAt !== null && (
            <>
              , next <Time at={verdict.nextAt} withAge />
            </>
          )}
        </span>
      </span>
      <div className="buttons">
        <Help event={event} timeline={timeline} />
      </div>
    </div>
  )
}

/** The delivery that the verdict speaks of: the first that stands as its cause says. */
function deliveryOf({ deliveries, verdict }: Timeline) {
  const isOf = ({ status }: Schemas['Delivery']) =>
    verdict.cause === 'failed' || verdict.cause === 'address_refused'
      ? status === 'failed'
      : status !== 'succeeded' && status !== 'cancelled' && status !== 'failed'
  return deliveries.find(isOf) ?? deliveries[0]
}

function Help({ event, timeline }: { event: Schemas['Event']; timeline: Timeline }) {
  const { projectId } = useProject()
  const { destinations } = useNames()
  const delivery = deliveryOf(timeline)
  const of = { projectId }
  const filtered = timeline.connections.find(({ outcome }) => outcome === 'filtered')?.connectionId
  const disabled = timeline.connections.find(({ outcome }) => outcome === 'disabled')?.connectionId
  const connector = destinations.find(({ id }) => id === delivery?.destinationId)?.connectorId
  switch (timeline.verdict.action) {
    case 'test_signature': {
      const isMail = event.method === 'MAIL'
      return (
        <Link
          className="button"
          to="/p/$projectId/sources/$sourceId"
          params={{ ...of, sourceId: event.sourceId }}
          search={isMail ? { tab: 'settings' } : { tab: 'verify', event: event.id }}
        >
          {isMail ? 'Show who may send' : 'Test its signature'}
        </Link>
      )
    }
    case 'create_connection':
      return (
        <Link
          className="button"
          to="/p/$projectId/connections/new"
          params={of}
          search={{ source: event.sourceId }}
        >
          Create a connection
        </Link>
      )
    case 'test_filter':
      return filtered === undefined ? null : (
        <ToConnection id={filtered} event={event.id} text="Test the filter" />
      )
    case 'enable_connection':
      return disabled === undefined ? null : (
        <ToConnection id={disabled} text="Show the connection" />
      )
    case 'retry':
      return delivery === undefined ? null : <Retry deliveryId={delivery.id} />
    case 'show_connector':
      return typeof connector === 'string' ? (
        <Link
          className="button"
          to="/p/$projectId/connectors/$connectorId"
          params={{ ...of, connectorId: connector }}
        >
          Show the connector
        </Link>
      ) : null
    case 'raise_rate_limit':
      return <ToDestination id={delivery?.destinationId} tab="settings" text="Change the pace" />
    case 'change_address':
      return <ToDestination id={delivery?.destinationId} tab="settings" text="Change the address" />
    case 'enable_destination':
      return <ToDestination id={delivery?.destinationId} text="Show the destination" />
    case 'replay':
      return <Replay eventId={event.id} />
    case null:
      return null
  }
}

function ToConnection({ id, event, text }: { id: string; event?: string; text: string }) {
  const { projectId } = useProject()
  return (
    <Link
      className="button"
      to="/p/$projectId/connections/$connectionId"
      params={{ projectId, connectionId: id }}
      search={event === undefined ? {} : { tab: 'filter', event }}
    >
      {text}
    </Link>
  )
}

function ToDestination({ id, tab, text }: { id: string | undefined; tab?: string; text: string }) {
  const { projectId } = useProject()
  if (id === undefined) return null
  return (
    <Link
      className="button"
      to="/p/$projectId/destinations/$destinationId"
      params={{ projectId, destinationId: id }}
      search={tab === undefined ? {} : { tab }}
    >
      {text}
    </Link>
  )
}

function Retry({ deliveryId }: { deliveryId: string }) {
  const { api, projectId } = useProject()
  const client = useQueryClient()
  const action = useAction(
    () => api.retryDelivery({ id: deliveryId }),
    () => {
      toast('An extra attempt is on its way')
      void client.invalidateQueries({ queryKey: [projectId] })
    },
  )
  return (
    <>
      {action.error !== null && <span role="alert">{action.error.message}</span>}
      <button type="button" className="button" disabled={action.isRunning} onClick={action.run}>
        Retry now
      </button>
    </>
  )
}

function Replay({ eventId }: { eventId: string }) {
  const [replay, dialog] = useReplay()
  return (
    <>
      <button type="button" className="button" onClick={() => replay(eventId)}>
        Replay…
      </button>
      {dialog}
    </>
  )
}

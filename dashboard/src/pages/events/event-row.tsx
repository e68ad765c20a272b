import { Link } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { bytes, shortId } from '../../parts/words/numbers.ts'
import { StatusMark, StatusShape } from '../../parts/words/status.tsx'
import { Time } from '../../parts/words/time.tsx'

import './event-row.css'

const DOTS_MAX = 8

export function EventRow({
  event,
  projectId,
  sourceName,
  deliveries,
  isSelected,
  select,
}: {
  event: Schemas['EventSummary']
  projectId: string
  sourceName: string
  deliveries: readonly Schemas['Delivery'][]
  isSelected: boolean
  select: () => void
}) {
  return (
    <>
      <span role="gridcell" className="above pick">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={isSelected}
          onChange={select}
          aria-label={`Select event ${shortId(event.id)}`}
        />
      </span>
      <span role="gridcell" className="is">
        <StatusMark status={event.status} />
      </span>
      <span role="gridcell" className="type">
        <Link
          className="cover"
          tabIndex={-1}
          to="/p/$projectId/events/$eventId"
          params={{ projectId, eventId: event.id }}
        >
          {event.eventType ?? <span className="muted">no type</span>}
        </Link>
      </span>
      <span role="gridcell" className="source">
        {sourceName}
      </span>
      <span role="gridcell" className="dots">
        <Dots deliveries={deliveries} />
      </span>
      <span role="gridcell" className="mono size">
        {bytes(event.sizeBytes)}
      </span>
      <span role="gridcell" className="when">
        <Time at={event.createdAt} />
      </span>
      <span role="gridcell" className="mono muted id">
        {shortId(event.id)}
      </span>
    </>
  )
}

/** A shape for each delivery, so that a glance down the list finds what failed. */
function Dots({ deliveries }: { deliveries: readonly Schemas['Delivery'][] }) {
  return (
    <span>
      {deliveries.slice(0, DOTS_MAX).map(({ id, status }) => (
        <StatusShape key={id} status={status} />
      ))}
      {deliveries.length > DOTS_MAX && (
        <span className="muted mono"> +{deliveries.length - DOTS_MAX}</span>
      )}
    </span>
  )
}

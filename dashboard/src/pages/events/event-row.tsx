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
  isWhole,
  isSelected,
  select,
}: {
  event: Schemas['EventSummary']
  projectId: string
  sourceName: string
  deliveries: readonly Schemas['Delivery'][]
  /** Whether these are all deliveries of the event. */
  isWhole: boolean
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
        <Dots deliveries={deliveries} isWhole={isWhole} />
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
function Dots({
  deliveries,
  isWhole,
}: {
  deliveries: readonly Schemas['Delivery'][]
  isWhole: boolean
}) {
  const more = deliveries.length - DOTS_MAX
  return (
    <span>
      {deliveries.slice(0, DOTS_MAX).map(({ id, status }) => (
        <StatusShape key={id} status={status} />
      ))}
      {isWhole && more > 0 && <span className="muted mono"> +{more}</span>}
      {!isWhole && (
        <span className="muted" title="There are more deliveries than this list reads">
          {' '}
          open it for all
        </span>
      )}
    </span>
  )
}

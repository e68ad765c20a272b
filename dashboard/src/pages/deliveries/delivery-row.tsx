import { Link } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { Icon } from '../../parts/icon.tsx'
import { shortId } from '../../parts/words/numbers.ts'
import { StatusMark } from '../../parts/words/status.tsx'
import { Time, timeText } from '../../parts/words/time.tsx'

import './delivery-row.css'

export function DeliveryRow({
  delivery,
  nameOf,
  isSelected,
  select,
}: {
  delivery: Schemas['Delivery']
  nameOf: (id: string) => string
  isSelected: boolean
  select: () => void
}) {
  const { id, projectId, status, connectionId, destinationId } = delivery
  return (
    <>
      <span role="gridcell" className="above pick">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={isSelected}
          onChange={select}
          aria-label={`Select delivery ${shortId(id)}`}
        />
      </span>
      <span role="gridcell" className="is">
        <StatusMark status={status} />
      </span>
      <span role="gridcell" className="way">
        <Link
          className="cover"
          tabIndex={-1}
          to="/p/$projectId/deliveries/$deliveryId"
          params={{ projectId, deliveryId: id }}
        >
          {connectionId === null ? 'test' : nameOf(connectionId)} <Icon name="arrow" />{' '}
          {nameOf(destinationId)}
        </Link>
      </span>
      <span role="gridcell" className="why">
        {whyOf(delivery)}
      </span>
      <span role="gridcell" className="mono tries">
        {delivery.attemptCount} of {delivery.maxAttempts}
      </span>
      <span role="gridcell" className="when">
        <Time at={delivery.createdAt} />
      </span>
      <span role="gridcell" className="mono muted id">
        {shortId(id)}
      </span>
    </>
  )
}

/** The answer or the error, and when it goes on. */
function whyOf({
  lastAttempt,
  lastError,
  nextAttemptAt,
  completedAt,
}: Schemas['Delivery']): string {
  const said = lastAttempt?.responseStatus ?? lastError?.replaceAll('_', ' ')
  const next =
    completedAt === null && nextAttemptAt !== null ? `next ${timeText(nextAttemptAt)}` : undefined
  return [said, next].filter((part) => part !== undefined && part !== null).join(', ')
}

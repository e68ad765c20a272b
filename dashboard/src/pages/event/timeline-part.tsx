import { useLocation, useNavigate } from '@tanstack/react-router'

import { AttemptPanel } from '../../timeline/attempt-panel.tsx'
import { AttemptTable } from '../../timeline/attempt-table.tsx'
import { isSettled, type Timeline } from '../../timeline/lanes.ts'
import { Picture } from '../../timeline/picture.tsx'

/** The attempt that is shown stands in the address, so that it can be sent to a colleague. */
export function TimelinePart({
  timeline,
  receivedAt,
  now,
}: {
  timeline: Timeline
  receivedAt: string
  now: number
}) {
  const navigate = useNavigate()
  const { hash } = useLocation()
  const attempts = timeline.deliveries.flatMap(({ attempts: made }) => made)
  const shown = attempts.find(({ id }) => id === hash)
  const show = (attemptId: string) =>
    void navigate({
      to: '.',
      hash: attemptId === shown?.id ? '' : attemptId,
      hashScrollIntoView: false,
      resetScroll: false,
      replace: true,
    })
  const places = { timeline, receivedAt, shown: shown?.id, show }
  const hasLanes = timeline.deliveries.length + timeline.connections.length > 0
  return (
    <section className="section" aria-label="Deliveries">
      <header>
        <h2>Deliveries</h2>
        {!isSettled(timeline) && <span className="muted">asked again every 2 s</span>}
      </header>
      {hasLanes && <Picture {...places} now={now} />}
      {shown !== undefined && <AttemptPanel attempt={shown} />}
      {hasLanes && <AttemptTable {...places} />}
      {!hasLanes && <p className="muted">The event was given to no connection.</p>}
    </section>
  )
}

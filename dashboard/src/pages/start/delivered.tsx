import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'

import { Loaded } from '../../parts/states.tsx'
import { useNow } from '../../parts/words/time.tsx'
import { useProject } from '../../session/project.tsx'
import { isSettled } from '../../timeline/lanes.ts'
import { TimelinePart } from '../event/timeline-part.tsx'

export function Delivered({ eventId, destinationId }: { eventId: string; destinationId: string }) {
  const { api, projectId } = useProject()
  const now = useNow()
  const timeline = useQuery({
    queryKey: [projectId, 'first-timeline', eventId],
    queryFn: async () => ({
      event: await api.getEvent({ id: eventId }),
      told: await api.getEventTimeline({ id: eventId }),
    }),
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isSettled(data.told) && data.told.deliveries.length > 0 ? false : 1000,
  })
  return (
    <Loaded query={timeline} noun="The event">
      {({ event, told }) => (
        <>
          <p
            className={told.verdict.cause === 'delivered' ? 'notice place' : 'notice busy'}
            role="status"
          >
            <strong>{told.verdict.sentence}</strong>
          </p>
          <TimelinePart timeline={told} receivedAt={event.createdAt} now={now} />
          <div className="buttons">
            <Link to="/p/$projectId" params={{ projectId }} className="button main">
              Done: go to the overview
            </Link>
            <Link
              to="/p/$projectId/destinations/$destinationId"
              params={{ projectId, destinationId }}
              search={{ tab: 'signing' }}
              className="button"
            >
              Check signatures at the endpoint
            </Link>
          </div>
        </>
      )}
    </Loaded>
  )
}

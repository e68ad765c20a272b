import { Navigate, useParams } from '@tanstack/react-router'

import { Loaded, Missing } from '../../parts/states.tsx'
import { useHomeOf } from './use-home-of.ts'

export function FindEvent() {
  const { eventId } = useParams({ from: '/inside/e/$eventId' })
  const home = useHomeOf(eventId, (api) => api.getEvent({ id: eventId }))
  return (
    <Loaded query={home}>
      {(projectId) =>
        projectId === null ? (
          <Missing noun="The event" />
        ) : (
          <Navigate to="/p/$projectId/events/$eventId" params={{ projectId, eventId }} replace />
        )
      }
    </Loaded>
  )
}

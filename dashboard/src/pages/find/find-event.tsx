import { Navigate, useParams } from '@tanstack/react-router'

import { read } from '../../api/client.ts'
import { Loaded, Missing } from '../../parts/states.tsx'
import { useHomeOf } from './use-home-of.ts'

export function FindEvent() {
  const { eventId } = useParams({ from: '/inside/e/$eventId' })
  const home = useHomeOf(eventId, (api) =>
    read(api.GET('/events/{id}', { params: { path: { id: eventId } } })),
  )
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

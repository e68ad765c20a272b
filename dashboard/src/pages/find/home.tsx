import { Navigate } from '@tanstack/react-router'

import { Empty, Skeleton } from '../../parts/states.tsx'
import { useCurrent } from '../../session/current.ts'
import { useReach } from '../../session/session.ts'

/** The project used last, or the first. */
export function Home() {
  const reach = useReach()
  const current = useCurrent()
  if (reach === undefined) return <Skeleton />
  if (current === undefined) {
    return (
      <Empty title="You belong to no project">
        <p>Ask the person who invited you, or an owner of the organisation.</p>
      </Empty>
    )
  }
  return <Navigate to="/p/$projectId" params={{ projectId: current.project.id }} replace />
}

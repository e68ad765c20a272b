import { Outlet, useParams } from '@tanstack/react-router'
import { useEffect } from 'react'

import { Missing, Skeleton } from '../parts/states.tsx'
import { ProjectScope } from '../session/project.tsx'
import { keepProject, useReach } from '../session/session.ts'
import { QuotaStrip } from './quota-strip.tsx'

export function ProjectPage() {
  const { projectId } = useParams({ from: '/inside/p/$projectId' })
  const reach = useReach()
  const found = reach?.find(({ project }) => project.id === projectId)
  const isThere = found !== undefined
  useEffect(() => {
    if (isThere) keepProject(projectId)
  }, [projectId, isThere])
  if (reach === undefined) return <Skeleton />
  if (found === undefined) return <Missing noun="The project" />
  return (
    <ProjectScope {...found}>
      <QuotaStrip />
      <Outlet />
    </ProjectScope>
  )
}

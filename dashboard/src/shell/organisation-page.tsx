import { Outlet, useParams } from '@tanstack/react-router'

import { Missing, Skeleton } from '../parts/states.tsx'
import { useCurrent } from '../session/current.ts'
import { ProjectScope } from '../session/project.tsx'

/** The pages of an organisation. Billing is asked by any project of it. */
export function OrganisationPage() {
  const { organisationId } = useParams({ from: '/inside/org/$organisationId' })
  const current = useCurrent()
  if (current === undefined) return <Skeleton />
  if (current.organisation.id !== organisationId) return <Missing noun="The organisation" />
  return (
    <ProjectScope project={current.project} organisation={current.organisation}>
      <Outlet />
    </ProjectScope>
  )
}

import { useParams } from '@tanstack/react-router'

import type { Organisation } from '../api/auth.ts'
import { lastProject, useReach, type Project } from './session.ts'

export interface Current {
  project: Project
  organisation: Organisation
  all: readonly { project: Project; organisation: Organisation }[]
}

/** The project of the address; on other pages the one used last, or the first. */
export function useCurrent(): Current | undefined {
  const reach = useReach()
  const { projectId, organisationId } = useParams({ strict: false })
  if (reach === undefined) return undefined
  const last = lastProject()
  const inOrganisation = reach.filter(({ organisation }) => organisation.id === organisationId)
  const found =
    reach.find(({ project }) => project.id === projectId) ??
    inOrganisation.find(({ project }) => project.id === last) ??
    inOrganisation[0] ??
    reach.find(({ project }) => project.id === last) ??
    reach[0]
  return found === undefined ? undefined : { ...found, all: reach }
}

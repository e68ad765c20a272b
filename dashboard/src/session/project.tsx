import { createContext, use, useMemo, type ReactNode } from 'react'

import type { Organisation } from '../api/auth.ts'
import { openApi, type Api } from '../api/client.ts'
import type { Project } from './session.ts'

interface InProject {
  projectId: string
  project: Project
  organisation: Organisation
  api: Api
  /** Owner and admin: what a member may not do, such as delete and reveal. */
  mayAll: boolean
}

const Context = createContext<InProject | null>(null)

export function ProjectScope({
  project,
  organisation,
  children,
}: {
  project: Project
  organisation: Organisation
  children: ReactNode
}) {
  const value = useMemo(
    () => ({
      projectId: project.id,
      project,
      organisation,
      api: openApi(project.id),
      mayAll: organisation.role !== 'member',
    }),
    [project, organisation],
  )
  return <Context value={value}>{children}</Context>
}

/** The project of the address, and the way to its API. */
export function useProject(): InProject {
  const value = use(Context)
  if (value === null) throw new Error('This part belongs inside a project')
  return value
}

/** Why a control is off, for people who may not use it. Nothing is hidden silently. */
export const OWNERS_ONLY = 'Needs the role owner or admin: ask an owner of the organisation'

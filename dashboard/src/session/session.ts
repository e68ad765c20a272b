import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useMemo } from 'react'

import { callAuth, type Organisation, type Session } from '../api/auth.ts'

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => callAuth<Session>('GET', '/session'),
  staleTime: 30_000,
  retry: false,
})

export function useSession(): Session {
  return useSuspenseQuery(sessionQuery).data
}

export interface Project {
  id: string
  organisationId: string
  name: string
  isDefault: boolean
  createdAt: string
}

/** Asked for beside the session, before any project is known. */
export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: () => callAuth<{ data: Project[] }>('GET', '/projects').then(({ data }) => data),
  staleTime: 30_000,
})

const LAST = 'postern.project'

export const lastProject = (): string | null => localStorage.getItem(LAST)
export const keepProject = (projectId: string): void => localStorage.setItem(LAST, projectId)
export const forgetProject = (): void => localStorage.removeItem(LAST)

/** Ends this session, or all of this person. */
export async function signOut({ everywhere = false } = {}): Promise<void> {
  await callAuth('POST', '/sign-out', { everywhere })
  forgetProject()
  location.assign('/sign-in')
}

/** Every project that this person reaches, with its organisation. */
export function useReach(): { organisation: Organisation; project: Project }[] | undefined {
  const { organisations } = useSession()
  const { data } = useQuery({
    ...projectsQuery,
    // Every page waits for the first answer: without it the fault is the fault of the page.
    throwOnError: (_, { state }) => state.data === undefined,
  })
  return useMemo(
    () =>
      data?.flatMap((project) => {
        const organisation = organisations.find(({ id }) => id === project.organisationId)
        return organisation === undefined ? [] : [{ organisation, project }]
      }),
    [data, organisations],
  )
}

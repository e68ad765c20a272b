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
  name: string
  isDefault: boolean
  createdAt: string
}

/** The projects of an organisation: the first question, before any project is known. */
function projectsQuery(organisationId: string) {
  return queryOptions({
    queryKey: ['projects', organisationId],
    queryFn: () =>
      callAuth<{ data: Project[] }>('GET', `/organisations/${organisationId}/projects`).then(
        ({ data }) => data,
      ),
    staleTime: 30_000,
  })
}

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

/** The projects of each organisation, in its order. */
export function reachQuery(organisations: readonly Organisation[]) {
  return queryOptions({
    queryKey: ['reach', ...organisations.map(({ id }) => id)],
    queryFn: ({ client }) =>
      Promise.all(organisations.map(({ id }) => client.fetchQuery(projectsQuery(id)))),
  })
}

/** Every project that this person reaches, with its organisation. */
export function useReach(): { organisation: Organisation; project: Project }[] | undefined {
  const { organisations } = useSession()
  const { data } = useQuery(reachQuery(organisations))
  return useMemo(
    () =>
      data &&
      organisations.flatMap((organisation, index) =>
        (data[index] ?? []).map((project) => ({ organisation, project })),
      ),
    [data, organisations],
  )
}

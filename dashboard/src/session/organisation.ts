import { useQuery, useQueryClient } from '@tanstack/react-query'

import { callAuth, type Invitation, type Member } from '../api/auth.ts'
import { useProject } from './project.tsx'

/** Below `/auth/organisations/{org}`. */
export function useOrganisationPath(): string {
  return `/organisations/${useProject().organisation.id}`
}

export function useMembers() {
  const path = useOrganisationPath()
  return useQuery({
    queryKey: [path, 'members'],
    queryFn: () => callAuth<{ data: Member[] }>('GET', `${path}/members`).then(({ data }) => data),
  })
}

export function useInvitations(isAllowed: boolean) {
  const path = useOrganisationPath()
  return useQuery({
    queryKey: [path, 'invitations'],
    queryFn: () =>
      callAuth<{ data: Invitation[] }>('GET', `${path}/invitations`).then(({ data }) =>
        data.filter(
          ({ revokedAt, acceptedAt, expiresAt }) =>
            revokedAt === null && acceptedAt === null && Date.parse(expiresAt) > Date.now(),
        ),
      ),
    enabled: isAllowed,
  })
}

export function useMembersAgain(): () => Promise<void> {
  const path = useOrganisationPath()
  const client = useQueryClient()
  return () => client.invalidateQueries({ queryKey: [path] })
}

import { useQuery } from '@tanstack/react-query'

import { callAuth } from '../api/auth.ts'

/** How people come into this installation. */
interface Options {
  isSetUp: boolean
  signUp: 'open' | 'invitation'
  isMailing: boolean
  hasPasswords: boolean
  /** The name of the provider that people may sign in with. */
  provider: string | null
  /** Organisations change their plans themselves; else the operator does. */
  hasSelfServicePlans: boolean
}

export function useOptions(): Options | undefined {
  return useQuery({
    queryKey: ['options'],
    queryFn: () => callAuth<Options>('GET', '/options'),
  }).data
}

/** Where the API sends a browser on to the provider. `again`: people prove to it anew who they are. */
export function providerAddress(next = '/', { again = false } = {}): string {
  const query = new URLSearchParams({ next, ...(again ? { again: 'true' } : {}) })
  return `/auth/oidc?${query.toString()}`
}

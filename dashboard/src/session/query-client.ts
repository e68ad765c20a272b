import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'

import { PosternError } from '../api/reach.ts'
import { forgetProject, sessionQuery } from './session.ts'

const RETRIES = 2

/** There is one for the whole page: what the API answered, by question. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    // Whoever comes without a session is led to sign in by the router.
    onError: (error) => {
      const hadSession = queryClient.getQueryData(sessionQuery.queryKey) !== undefined
      if (hadSession) leaveWithoutSession(error)
    },
  }),
  mutationCache: new MutationCache({ onError: leaveWithoutSession }),
  defaultOptions: {
    queries: {
      staleTime: 3000,
      retry: (failures, error) =>
        failures < RETRIES &&
        error instanceof PosternError &&
        (error.status === 0 || error.status > 500),
    },
  },
})

const OUTSIDE = /^\/(sign-in|sign-up|setup|invite|forgot|reset|verify)/

/** A session that has ended: sign in, and come back to this page. */
function leaveWithoutSession(error: Error): void {
  if (!(error instanceof PosternError) || error.status !== 401 || error.code !== 'UNAUTHORIZED')
    return
  if (OUTSIDE.test(location.pathname)) return
  forgetProject()
  const next = encodeURIComponent(location.pathname + location.search + location.hash)
  location.assign(`/sign-in?next=${next}`)
}

import { useQuery } from '@tanstack/react-query'

import { callAuth } from '../../api/auth.ts'

/** How people come into this installation. */
interface Options {
  isSetUp: boolean
  signUp: 'open' | 'invitation'
  isMailing: boolean
}

export function useOptions(): Options | undefined {
  return useQuery({
    queryKey: ['options'],
    queryFn: () => callAuth<Options>('GET', '/options'),
  }).data
}

import { useQuery } from '@tanstack/react-query'

import { openApi, type Api } from '../../api/client.ts'
import { PosternError } from '../../api/reach.ts'
import { useReach } from '../../session/session.ts'

/** The project that holds something of which only the id is known; null when none does. */
export function useHomeOf(id: string, ask: (api: Api) => Promise<unknown>) {
  const reach = useReach()
  return useQuery({
    queryKey: ['home-of', id],
    enabled: reach !== undefined,
    queryFn: async () => {
      for (const { project } of reach ?? []) {
        if (await isThere(ask(openApi(project.id)))) return project.id
      }
      return null
    },
  })
}

async function isThere(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked
    return true
  } catch (error) {
    if (error instanceof PosternError && error.status === 404) return false
    throw error
  }
}

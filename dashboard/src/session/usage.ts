import { useQuery } from '@tanstack/react-query'

import { useProject } from './project.tsx'

/** The deliveries of the running window, and how many there may be. */
export function useUsage() {
  const { api, projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'usage'],
    queryFn: () => api.getUsage(),
    refetchInterval: 60_000,
  })
}

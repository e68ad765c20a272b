import { useQuery } from '@tanstack/react-query'

import { useProject } from '../../session/project.tsx'

/** Replicas come and go while one looks; the API knows of it within two seconds. */
const AGAIN_MS = 2000

export function useConnectors() {
  const { api, projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'connectors'],
    queryFn: () => api.listConnectors({ limit: 100, sortBy: 'name', sortDir: 'asc' }),
    refetchInterval: AGAIN_MS,
  })
}

export function useConnector(id: string) {
  const { api, projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'connector', id],
    queryFn: () => api.getConnector({ id }),
    refetchInterval: AGAIN_MS,
  })
}

export function useReplicas(id: string) {
  const { api, projectId } = useProject()
  return useQuery({
    queryKey: [projectId, 'replicas', id],
    queryFn: () => api.listReplicas({ id, limit: 100 }),
    refetchInterval: AGAIN_MS,
  })
}

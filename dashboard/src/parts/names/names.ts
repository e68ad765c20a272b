import { useQuery } from '@tanstack/react-query'

import { all, type Api, type Schemas } from '../../api/client.ts'
import { useProject } from '../../session/project.tsx'
import { shortId } from '../words/numbers.ts'

/** Lists of names are for choosing and showing; beyond this many an id is shown instead. */
const NAMES_MAX = 500
const BY_NAME = { sortBy: 'name', sortDir: 'asc' } as const

export interface Names {
  sources: Schemas['Source'][]
  destinations: Schemas['Destination'][]
  connections: Schemas['Connection'][]
}

const NONE: Names = { sources: [], destinations: [], connections: [] }

export function useNames(): Names & { nameOf: (id: string) => string; isLoaded: boolean } {
  const { api, projectId } = useProject()
  const { data } = useQuery({
    queryKey: [projectId, 'names'],
    queryFn: () => readNames(api),
    staleTime: 15_000,
  })
  const names = data ?? NONE
  const byId = new Map(
    [names.sources, names.destinations, names.connections].flat().map(({ id, name }) => [id, name]),
  )
  return { ...names, nameOf: (id) => byId.get(id) ?? shortId(id), isLoaded: data !== undefined }
}

async function readNames(api: Api): Promise<Names> {
  const [sources, destinations, connections] = await Promise.all([
    Array.fromAsync(all(api.listSources, BY_NAME, { max: NAMES_MAX })),
    Array.fromAsync(all(api.listDestinations, BY_NAME, { max: NAMES_MAX })),
    Array.fromAsync(all(api.listConnections, BY_NAME, { max: NAMES_MAX })),
  ])
  return { sources, destinations, connections }
}

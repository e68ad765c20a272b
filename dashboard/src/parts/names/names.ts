import { useQuery } from '@tanstack/react-query'

import { read, type Api, type Schemas } from '../../api/client.ts'
import { useProject } from '../../shell/project.tsx'
import { shortId } from '../words/numbers.ts'

/** Lists of names are for choosing and showing; beyond this many an id is shown instead. */
const PAGES_MAX = 5

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
    everyPage((query) => read(api.GET('/sources', { params: { query } }))),
    everyPage((query) => read(api.GET('/destinations', { params: { query } }))),
    everyPage((query) => read(api.GET('/connections', { params: { query } }))),
  ])
  return { sources, destinations, connections }
}

type Query = { limit: number; sortBy: 'name'; sortDir: 'asc'; cursor?: string }

async function everyPage<T>(
  page: (query: Query) => Promise<{ data: T[]; nextCursor: string | null }>,
): Promise<T[]> {
  const all: T[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query: Query = { limit: 100, sortBy: 'name', sortDir: 'asc' }
    const answer: { data: T[]; nextCursor: string | null } = await page(
      cursor === null ? query : { ...query, cursor },
    )
    all.push(...answer.data)
    cursor = answer.nextCursor
    if (cursor === null) break
  }
  return all
}

import { matchFilters, type Match, type Matchable } from '../../../core/match/filter.ts'
import type { IngestConnection, IngestSource } from './sources.ts'

/** Where an event goes, and why not elsewhere. */
export interface Routing {
  status: 'received' | 'filtered' | 'unmatched'
  connections: readonly IngestConnection[]
  /** JSON of the connections that do not get it; null when all do. */
  outcomes: string | null
}

const UNMATCHED: Routing = { status: 'unmatched', connections: [], outcomes: null }

/** (spec: Event status) A disabled connection is not active: it alone makes an event unmatched, not filtered. */
export function route(source: IngestSource, event: Matchable): Routing {
  if (source.connections.length === 0) return UNMATCHED
  const connections: IngestConnection[] = []
  const excluded: object[] = []
  const matches = source.filters.length === 0 ? [] : matchFilters(source.filters, event)
  let active = 0
  let filtered = 0
  for (const connection of source.connections) {
    if (!connection.isEnabled) {
      excluded.push({ connectionId: connection.id, outcome: 'disabled' })
      continue
    }
    active++
    const match: Match | undefined = connection.filter && matches[filtered++]
    if (match === undefined || match.matched) connections.push(connection)
    else {
      const { failedPart, path } = match
      excluded.push({ connectionId: connection.id, outcome: 'filtered', failedPart, path })
    }
  }
  return {
    status: connections.length > 0 ? 'received' : active > 0 ? 'filtered' : 'unmatched',
    connections,
    outcomes: excluded.length === 0 ? null : JSON.stringify(excluded),
  }
}

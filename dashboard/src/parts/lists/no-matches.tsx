import type { ReactNode } from 'react'

import { useNames } from '../names/names.ts'
import { Empty } from '../states.tsx'
import { timeText } from '../words/time.tsx'

/** The filters of both lists, as their fields are called. */
const NAMES: Readonly<Record<string, string>> = {
  status: 'Status',
  source: 'Source',
  type: 'Type',
  destination: 'Destination',
  connection: 'Connection',
  event: 'Event',
  error: 'Error',
  code: 'Answer',
  q: 'Search',
  from: 'From',
  to: 'To',
}
/** Shown as they were written. */
const WRITTEN = new Set(['type', 'q'])
const RESOURCES = new Set(['source', 'destination', 'connection'])
const WEEK_MS = 7 * 86_400_000

type Filters = Readonly<Record<string, string | boolean | undefined>>

/** A filter too many is the usual cause: each can be dropped here, and the time widened. */
export function NoMatches({
  title,
  filters,
  change,
  all,
}: {
  title: string
  filters: Filters
  change: (filters: Filters) => void
  /** Leads to the list without filters. */
  all: ReactNode
}) {
  const { nameOf } = useNames()
  const said = (name: string, value: string): string => {
    if (RESOURCES.has(name)) return nameOf(value)
    if (name === 'from' || name === 'to') return timeText(value)
    return WRITTEN.has(name) ? value : value.replaceAll('_', ' ')
  }
  const given = Object.entries(filters).flatMap(([name, value]) =>
    typeof value === 'string' && name in NAMES ? [[name, value] as const] : [],
  )
  const widen = () =>
    change({ ...filters, from: new Date(Date.now() - WEEK_MS).toISOString(), to: undefined })
  return (
    <Empty title={title}>
      <div className="buttons">
        {given.map(([name, value]) => (
          <button
            key={name}
            type="button"
            className="button"
            onClick={() => change({ ...filters, [name]: undefined })}
          >
            Without {NAMES[name]}: {said(name, value)}
          </button>
        ))}
        {(filters['from'] !== undefined || filters['to'] !== undefined) && (
          <button type="button" className="button" onClick={widen}>
            Look at the last 7 days
          </button>
        )}
        {all}
      </div>
    </Empty>
  )
}

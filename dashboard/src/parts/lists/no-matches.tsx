import type { ReactNode } from 'react'

import { useFilterWords } from '../names/filter-words.ts'
import { Empty } from '../states.tsx'

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
  const wordsOf = useFilterWords()
  const widen = () =>
    change({ ...filters, from: new Date(Date.now() - WEEK_MS).toISOString(), to: undefined })
  return (
    <Empty title={title}>
      <div className="buttons">
        {wordsOf(filters).map(({ name, label, text }) => (
          <button
            key={name}
            type="button"
            className="button"
            onClick={() => change({ ...filters, [name]: undefined })}
          >
            Without {label}: {text}
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

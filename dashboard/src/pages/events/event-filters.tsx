import { useNavigate } from '@tanstack/react-router'

import { FilterChoice, FilterText, MomentBox } from '../../parts/lists/filters.tsx'
import { SearchBox } from '../../parts/lists/search-box.tsx'
import { useNames } from '../../parts/names/names.ts'
import { wordOf } from '../../parts/words/status.tsx'
import { given } from '../../routes/search-parts.ts'
import { EVENT_TYPE, type EventSearch } from '../../routes/searches.ts'
import { EVENT_STATUSES } from '../../routes/values.ts'
import { useProject } from '../../session/project.tsx'

export function EventFilters({
  search,
  types,
}: {
  search: EventSearch
  /** Types that the list shows. */
  types: readonly string[]
}) {
  const { projectId } = useProject()
  const { sources } = useNames()
  const navigate = useNavigate()
  const change = (changes: { [K in keyof EventSearch]?: EventSearch[K] | undefined }) =>
    void navigate({
      to: '/p/$projectId/events',
      params: { projectId },
      search: given({ ...search, ...changes }),
    })
  const find = (q: string | undefined) => {
    if (q !== undefined && /^evt_[0-9a-z]{26}$/.test(q)) {
      void navigate({ to: '/e/$eventId', params: { eventId: q } })
    } else change({ q, live: undefined })
  }
  return (
    <div className="chips" role="search">
      <SearchBox
        label="Search type, id, key and body, or paste an event id"
        value={search.q}
        find={find}
      />
      <FilterChoice
        label="Status"
        value={search.status}
        options={EVENT_STATUSES.map((status) => [status, wordOf(status)] as const)}
        onChange={(status) => change({ status })}
      />
      <FilterChoice
        label="Source"
        value={search.source}
        options={sources.map(({ id, name }) => [id, name] as const)}
        onChange={(source) => change({ source })}
      />
      <FilterText
        label="Type"
        value={search.type}
        pattern={EVENT_TYPE}
        title="A type; a * at its end stands for anything"
        hints={types}
        onChange={(type) => change({ type })}
      />
      <MomentBox label="From" value={search.from} onChange={(from) => change({ from })} />
      <MomentBox label="To" value={search.to} onChange={(to) => change({ to, live: undefined })} />
    </div>
  )
}

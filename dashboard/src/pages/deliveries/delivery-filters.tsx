import { useNavigate } from '@tanstack/react-router'

import { FilterChoice, MomentBox } from '../../parts/lists/filters.tsx'
import { SearchBox } from '../../parts/lists/search-box.tsx'
import { useNames } from '../../parts/names/names.ts'
import { wordOf } from '../../parts/words/status.tsx'
import { given } from '../../routes/search-parts.ts'
import type { DeliverySearch } from '../../routes/searches.ts'
import { DELIVERY_STATUSES, ERROR_CODES } from '../../routes/values.ts'
import { useProject } from '../../session/project.tsx'

const CODES = ['2xx', '3xx', '4xx', '5xx'] as const

export function DeliveryFilters({ search }: { search: DeliverySearch }) {
  const { projectId } = useProject()
  const { sources, destinations, connections } = useNames()
  const navigate = useNavigate()
  const change = (changes: { [K in keyof DeliverySearch]?: DeliverySearch[K] | undefined }) =>
    void navigate({
      to: '/p/$projectId/deliveries',
      params: { projectId },
      search: given({ ...search, ...changes }),
    })
  const find = (id: string | undefined) => {
    if (id === undefined) change({ event: undefined })
    else if (id.startsWith('dlv_'))
      void navigate({ to: '/d/$deliveryId', params: { deliveryId: id } })
    else if (id.startsWith('evt_')) change({ event: id })
  }
  return (
    <div className="chips" role="search">
      <SearchBox label="Paste the id of a delivery or an event" value={search.event} find={find} />
      <FilterChoice
        label="Status"
        value={search.status}
        options={DELIVERY_STATUSES.map((status) => [status, wordOf(status)] as const)}
        onChange={(status) => change({ status })}
      />
      <FilterChoice
        label="Destination"
        value={search.destination}
        options={destinations.map(({ id, name }) => [id, name] as const)}
        onChange={(destination) => change({ destination })}
      />
      <FilterChoice
        label="Connection"
        value={search.connection}
        options={connections.map(({ id, name }) => [id, name] as const)}
        onChange={(connection) => change({ connection })}
      />
      <FilterChoice
        label="Source"
        value={search.source}
        options={sources.map(({ id, name }) => [id, name] as const)}
        onChange={(source) => change({ source })}
      />
      <FilterChoice
        label="Error"
        value={search.error}
        options={ERROR_CODES.map((code) => [code, code.replaceAll('_', ' ')] as const)}
        onChange={(error) => change({ error })}
      />
      <FilterChoice
        label="Answer"
        value={search.code}
        options={[...new Set([...CODES, ...(search.code === undefined ? [] : [search.code])])].map(
          (code) => [code, code] as const,
        )}
        onChange={(code) => change({ code })}
      />
      <MomentBox label="From" value={search.from} onChange={(from) => change({ from })} />
      <MomentBox label="To" value={search.to} onChange={(to) => change({ to })} />
    </div>
  )
}

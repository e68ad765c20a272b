import { Link, useNavigate, useSearch } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { BulkButton } from '../../parts/bulk/bulk-button.tsx'
import { SelectionBar } from '../../parts/bulk/selection-bar.tsx'
import { useSelection } from '../../parts/bulk/use-selection.ts'
import { More } from '../../parts/lists/more.tsx'
import { NoMatches } from '../../parts/lists/no-matches.tsx'
import { Rows } from '../../parts/lists/rows.tsx'
import { useNames } from '../../parts/names/names.ts'
import { Empty, Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { given } from '../../routes/search-parts.ts'
import { deliverySearch, type DeliverySearch } from '../../routes/searches.ts'
import { useProject } from '../../session/project.tsx'
import { DeliveryFilters } from './delivery-filters.tsx'
import { DeliveryRow } from './delivery-row.tsx'
import { operationFilter, useDeliveries } from './queries.ts'
import { useRetry } from './use-retry.tsx'

export function Deliveries() {
  const search = useSearch({ from: '/inside/p/$projectId/deliveries' })
  const deliveries = useDeliveries(search)
  const filter = operationFilter(search)
  return (
    <>
      <header>
        <PageTitle>Deliveries</PageTitle>
        <div className="buttons">
          <BulkButton kind="retry" filter={filter} />
          <BulkButton kind="cancel" filter={filter} />
        </div>
      </header>
      <DeliveryFilters search={search} />
      <Loaded query={deliveries} noun="The list">
        {({ pages }) => (
          <DeliveryList
            rows={pages.flatMap(({ data }) => data)}
            isDim={deliveries.isPlaceholderData}
            search={search}
          />
        )}
      </Loaded>
      <More query={deliveries} />
    </>
  )
}

function DeliveryList({
  rows,
  isDim,
  search,
}: {
  rows: readonly Schemas['Delivery'][]
  isDim: boolean
  search: DeliverySearch
}) {
  const { projectId } = useProject()
  const { nameOf } = useNames()
  const navigate = useNavigate()
  const [retry, dialog] = useRetry()
  const selection = useSelection(rows)
  if (rows.length === 0) return <NoDeliveries search={search} />
  return (
    <>
      <SelectionBar selection={selection} kinds={['retry', 'cancel']} />
      <Rows
        className="deliveries"
        label="Deliveries"
        rows={rows}
        isDim={isDim}
        address={({ id }) => `/p/${projectId}/deliveries/${id}`}
        open={({ id }) =>
          void navigate({
            to: '/p/$projectId/deliveries/$deliveryId',
            params: { projectId, deliveryId: id },
          })
        }
        select={({ id }) => selection.toggle(id)}
        act={{ r: ({ id }) => retry(id) }}
        row={(delivery) => (
          <DeliveryRow
            delivery={delivery}
            nameOf={nameOf}
            isSelected={selection.has(delivery.id)}
            select={() => selection.toggle(delivery.id)}
          />
        )}
      />
      {dialog}
    </>
  )
}

function NoDeliveries({ search }: { search: DeliverySearch }) {
  const { projectId } = useProject()
  const navigate = useNavigate()
  if (Object.keys(given(search)).length === 0) {
    return (
      <Empty title="Nothing was delivered yet">
        <p>A connection sends the events of a source to a destination.</p>
        <Link to="/p/$projectId/start" params={{ projectId }} className="button main">
          Deliver the first webhook
        </Link>
      </Empty>
    )
  }
  return (
    <NoMatches
      title="No deliveries match"
      filters={search}
      change={(filters) =>
        void navigate({
          to: '/p/$projectId/deliveries',
          params: { projectId },
          search: deliverySearch(filters),
        })
      }
      all={
        <Link to="/p/$projectId/deliveries" params={{ projectId }} className="button">
          Show all deliveries
        </Link>
      }
    />
  )
}

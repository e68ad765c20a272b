import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, type ReactNode } from 'react'

import type { Schemas } from '../../api/client.ts'
import { BulkButton } from '../../parts/bulk/bulk-button.tsx'
import { SelectionBar } from '../../parts/bulk/selection-bar.tsx'
import { useSelection } from '../../parts/bulk/use-selection.ts'
import { useKeys } from '../../parts/keys.ts'
import { More } from '../../parts/lists/more.tsx'
import { Rows } from '../../parts/lists/rows.tsx'
import { useNames } from '../../parts/names/names.ts'
import { Loaded } from '../../parts/states.tsx'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { given } from '../../routes/search-parts.ts'
import { useProject } from '../../session/project.tsx'
import { EventFilters } from './event-filters.tsx'
import { EventRow } from './event-row.tsx'
import { LiveBar, useTail } from './live-bar.tsx'
import { NoEvents } from './no-events.tsx'
import { eventQuery, useDeliveriesOf, useEvents } from './queries.ts'
import { useNowAndThen } from './use-now-and-then.ts'
import { useReplay } from './use-replay.tsx'

export function Events() {
  const search = useSearch({ from: '/inside/p/$projectId/events' })
  const { projectId } = useProject()
  const navigate = useNavigate()
  const events = useEvents(search)
  const tail = useTail(search)
  const isLive = search.live === true
  // Asked for each event that comes in, the deliveries would take all requests that a session has.
  const told = useNowAndThen(tail.rows, DELIVERIES_MS)
  const turn = () =>
    void navigate({
      to: '/p/$projectId/events',
      params: { projectId },
      search: given({
        ...search,
        live: isLive ? undefined : (true as const),
        q: undefined,
        to: undefined,
      }),
    })
  useKeys({ l: turn })
  return (
    <>
      <header>
        <PageTitle>Events</PageTitle>
        <div className="buttons">
          <BulkButton kind="replay" filter={eventQuery(search)} />
          <button type="button" className="button" aria-pressed={isLive} onClick={turn}>
            {isLive ? 'Pause' : 'Follow live'}
          </button>
        </div>
      </header>
      <EventFilters search={search} types={typesOf(events.data?.pages)} />
      {isLive && <LiveBar tail={tail} />}
      <Loaded query={events} noun="The list">
        {({ pages }) => (
          <EventList
            live={isLive ? { rows: tail.rows, told } : NOT_LIVE}
            pages={pages}
            isDim={events.isPlaceholderData}
            empty={<NoEvents search={search} />}
          />
        )}
      </Loaded>
      <More query={events} cut={cutAt(events.data?.pages)} />
    </>
  )
}

type EventSummary = Schemas['EventSummary']

interface Live {
  rows: readonly EventSummary[]
  /** The same a moment ago: the deliveries of these are read. */
  told: readonly EventSummary[]
}

const NOT_LIVE: Live = { rows: [], told: [] }
const DELIVERIES_MS = 2000

function EventList({
  live,
  pages,
  isDim,
  empty,
}: {
  live: Live
  pages: readonly Schemas['EventList'][]
  isDim: boolean
  empty: ReactNode
}) {
  const { projectId } = useProject()
  const { nameOf } = useNames()
  const navigate = useNavigate()
  const [replay, dialog] = useReplay()
  const listed = useMemo(() => pages.map(({ data }) => data), [pages])
  const rows = useMemo(() => unique([live.rows, ...listed].flat()), [live.rows, listed])
  const selection = useSelection(rows)
  const { byEvent, unread } = useDeliveriesOf([live.told, ...listed])
  if (rows.length === 0) return empty
  return (
    <>
      <SelectionBar selection={selection} kinds={['replay']} />
      <Rows
        className="events"
        label="Events"
        rows={rows}
        isDim={isDim}
        address={({ id }) => `/p/${projectId}/events/${id}`}
        open={({ id }) =>
          void navigate({
            to: '/p/$projectId/events/$eventId',
            params: { projectId, eventId: id },
          })
        }
        select={({ id }) => selection.toggle(id)}
        act={{ r: ({ id }) => replay(id) }}
        row={(event) => (
          <EventRow
            event={event}
            projectId={projectId}
            sourceName={nameOf(event.sourceId)}
            deliveries={byEvent.get(event.id) ?? []}
            isWhole={!unread.has(event.id)}
            isSelected={selection.has(event.id)}
            select={() => selection.toggle(event.id)}
          />
        )}
      />
      {dialog}
    </>
  )
}

/** A live row may be in a page of the list as well. */
function unique(rows: readonly EventSummary[]): EventSummary[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()]
}

const TYPES_MAX = 50

function typesOf(pages: readonly Schemas['EventList'][] = []): string[] {
  const types = pages.flatMap(({ data }) => data.flatMap(({ eventType }) => eventType ?? []))
  return [...new Set(types)].toSorted().slice(0, TYPES_MAX)
}

/** The time that a page has come to which stopped before it was full. */
function cutAt(pages: readonly Schemas['EventList'][] | undefined): string | undefined {
  const last = pages?.at(-1)
  return last?.truncated === true ? last.searchedThrough : undefined
}

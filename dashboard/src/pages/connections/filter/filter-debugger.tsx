import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import type { Schemas } from '../../../api/client.ts'
import { SelectField } from '../../../parts/forms/fields.tsx'
import { Form, useAction } from '../../../parts/forms/form.tsx'
import { useSaved } from '../../../parts/forms/use-saved.ts'
import { Payload } from '../../../parts/payload/payload.tsx'
import { Loaded } from '../../../parts/states.tsx'
import { shortId } from '../../../parts/words/numbers.ts'
import { timeText } from '../../../parts/words/time.tsx'
import { useProject } from '../../../session/project.tsx'
import { ClauseRows } from './clause-rows.tsx'
import type { Filter } from './clauses.ts'
import { FilterEditor } from './filter-editor.tsx'
import { Recent } from './recent.tsx'

const EVENTS = 50

/** The filter at the left, a real event at the right, and what each clause says of it. */
export function FilterDebugger({
  connection,
  eventId,
}: {
  connection: Schemas['Connection']
  eventId: string | undefined
}) {
  const { api, projectId } = useProject()
  const [text, setText] = useState(() => textOf(connection.filter))
  const [chosen, setChosen] = useState(eventId ?? '')
  const filter = filterOf(text)
  const events = useQuery({
    queryKey: [projectId, 'recent-of', connection.sourceId],
    queryFn: () => api.listEvents({ sourceId: connection.sourceId, limit: EVENTS }),
  })
  const listed = events.data?.data ?? []
  const shownId = chosen === '' ? (listed[0]?.id ?? '') : chosen
  const event = useQuery({
    queryKey: [projectId, 'event', shownId],
    queryFn: () => api.getEvent({ id: shownId }),
    enabled: shownId !== '',
    staleTime: Infinity,
  })
  const saved = useSaved('connection')
  const save = useAction(
    () => api.updateConnection({ id: connection.id, body: { data: { filter: filter ?? null } } }),
    (changed) => saved(changed, 'The filter is saved: ingest matches the next event against it'),
  )
  return (
    <div className="columns">
      <div className="form">
        <Form
          action={save}
          submit="Save the filter"
          isDisabled={filter === undefined && text.trim() !== ''}
        >
          <FilterEditor
            text={text}
            onChange={setText}
            isRead={filter !== undefined || text.trim() === ''}
          />
        </Form>
        {filter !== undefined && listed.length > 0 && <Recent filter={filter} events={listed} />}
      </div>
      <div className="form">
        {shownId === '' ? (
          <p className="muted">Its source has no event yet to try the filter on.</p>
        ) : (
          <SelectField
            label="Try it on the event"
            value={shownId}
            onChange={setChosen}
            options={optionsOf(listed, shownId)}
          />
        )}
        {shownId !== '' && (
          <Loaded query={event} noun="The event">
            {(found) => (
              <>
                {filter !== undefined && <ClauseRows filter={filter} event={found} />}
                <Payload event={found} />
              </>
            )}
          </Loaded>
        )}
      </div>
    </div>
  )
}

function optionsOf(
  events: readonly Schemas['EventSummary'][],
  shownId: string,
): (readonly [string, string])[] {
  const listed = events.map(
    ({ id, createdAt, eventType }) =>
      [id, `${timeText(createdAt)}, ${eventType ?? 'no type'}, ${shortId(id)}`] as const,
  )
  return listed.some(([id]) => id === shownId) ? listed : [[shownId, shortId(shownId)], ...listed]
}

const textOf = (filter: Filter | null): string =>
  filter === null ? '' : JSON.stringify(filter, null, 2)

/** Undefined for an empty text, and for one that is no JSON object. */
function filterOf(text: string): Filter | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

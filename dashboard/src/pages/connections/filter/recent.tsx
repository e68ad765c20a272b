import type { Schemas } from '../../../api/client.ts'
import { useAction } from '../../../parts/forms/form.tsx'
import { ActionFault } from '../../../parts/states.tsx'
import { useProject } from '../../../session/project.tsx'
import type { Filter } from './clauses.ts'

/** How many tests are under way at once. */
const AT_ONCE = 5

/** The filter over the events that the source had last. On request, because it takes a test for each. */
export function Recent({
  filter,
  events,
}: {
  filter: Filter
  events: readonly Schemas['EventSummary'][]
}) {
  const { api } = useProject()
  const action = useAction(async () => {
    const left = [...events]
    let matched = 0
    const work = async () => {
      for (let event = left.pop(); event !== undefined; event = left.pop()) {
        const answer = await api.testFilter({ body: { filter, eventId: event.id } })
        if (answer.matched) matched += 1
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    return { matched, filter }
  })
  return (
    <div className="form">
      <button type="button" className="button" disabled={action.isRunning} onClick={action.run}>
        {action.isRunning ? 'Trying…' : `Try it on the last ${events.length} events`}
      </button>
      <ActionFault error={action.error} />
      {action.result !== undefined && sameText(action.result.filter, filter) && (
        <p role="status">
          {action.result.matched} of the last {events.length} events match.
        </p>
      )}
    </div>
  )
}

/** An answer for another text of the filter is none. */
function sameText(one: Filter, other: Filter): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

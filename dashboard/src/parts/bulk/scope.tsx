import { useNames } from '../names/names.ts'
import { timeText } from '../words/time.tsx'

/** The members of a filter, as the fields of lists are called. */
const WORDS: Readonly<Record<string, string>> = {
  status: 'Status',
  sourceId: 'Source',
  destinationId: 'Destination',
  connectionId: 'Connection',
  eventId: 'Event',
  errorCode: 'Error',
  responseStatus: 'Answer',
  eventType: 'Type',
  search: 'Search',
  from: 'From',
  to: 'To',
}
/** Shown as they were written. */
const WRITTEN = new Set(['eventType', 'search'])
const NAMED = new Set(['sourceId', 'destinationId', 'connectionId'])

/** Whatever bulk work is about. */
export function Scope({ filter }: { filter: object }) {
  const { nameOf } = useNames()
  const shown = (name: string, value: string): string => {
    if (name === 'from' || name === 'to') return timeText(value)
    if (NAMED.has(name)) return nameOf(value)
    return WRITTEN.has(name) ? value : value.replaceAll('_', ' ')
  }
  return (
    <dl className="facts">
      {Object.entries(filter).map(([name, value]) => (
        <Part key={name} name={WORDS[name] ?? name} value={shown(name, String(value))} />
      ))}
    </dl>
  )
}

function Part({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  )
}

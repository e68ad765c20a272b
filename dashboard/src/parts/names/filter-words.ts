import { timeText } from '../words/time.tsx'
import { useNames } from './names.ts'

type Kind = 'word' | 'text' | 'resource' | 'time'

/** Filters of lists, by the name that an address has for them and by that of the API. */
const WORDS: Readonly<Record<string, readonly [label: string, kind: Kind]>> = {
  status: ['Status', 'word'],
  source: ['Source', 'resource'],
  sourceId: ['Source', 'resource'],
  type: ['Type', 'text'],
  eventType: ['Type', 'text'],
  destination: ['Destination', 'resource'],
  destinationId: ['Destination', 'resource'],
  connection: ['Connection', 'resource'],
  connectionId: ['Connection', 'resource'],
  event: ['Event', 'text'],
  eventId: ['Event', 'text'],
  error: ['Error', 'word'],
  errorCode: ['Error', 'word'],
  code: ['Answer', 'text'],
  responseStatus: ['Answer', 'text'],
  q: ['Search', 'text'],
  search: ['Search', 'text'],
  from: ['From', 'time'],
  to: ['To', 'time'],
}

/** Says the filters of a list as its fields are called, one by one; anything else is no filter and left out. */
export function useFilterWords(): (
  filters: object,
) => { name: string; label: string; text: string }[] {
  const { nameOf } = useNames()
  const textOf: Readonly<Record<Kind, (value: string) => string>> = {
    word: (value) => value.replaceAll('_', ' '),
    text: (value) => value,
    resource: nameOf,
    time: timeText,
  }
  return (filters) =>
    Object.entries(filters).flatMap(([name, value]) => {
      const [label, kind] = WORDS[name] ?? []
      return label === undefined || kind === undefined || value === undefined
        ? []
        : [{ name, label, text: textOf[kind](String(value)) }]
    })
}

import './status.css'

type Shape = 'circle' | 'triangle' | 'diamond' | 'square' | 'ring' | 'cross' | 'dash'
type Tone = 'good' | 'bad' | 'busy' | 'wait' | 'idle'

interface Look {
  shape: Shape
  tone: Tone
  word: string
}

/** Each status has a shape and a word besides its colour. */
const LOOKS = {
  received: { shape: 'circle', tone: 'idle', word: 'Received' },
  filtered: { shape: 'square', tone: 'idle', word: 'Filtered' },
  unmatched: { shape: 'dash', tone: 'idle', word: 'Unmatched' },
  rejected: { shape: 'cross', tone: 'bad', word: 'Rejected' },
  duplicate: { shape: 'dash', tone: 'idle', word: 'Duplicate' },
  pending: { shape: 'ring', tone: 'wait', word: 'Pending' },
  throttled: { shape: 'diamond', tone: 'busy', word: 'Throttled' },
  in_flight: { shape: 'ring', tone: 'wait', word: 'In flight' },
  succeeded: { shape: 'circle', tone: 'good', word: 'Succeeded' },
  failed: { shape: 'triangle', tone: 'bad', word: 'Failed' },
  cancelled: { shape: 'dash', tone: 'idle', word: 'Cancelled' },
  busy: { shape: 'diamond', tone: 'busy', word: 'Busy' },
  healthy: { shape: 'circle', tone: 'good', word: 'Healthy' },
  failing: { shape: 'triangle', tone: 'bad', word: 'Failing' },
  disabled: { shape: 'dash', tone: 'idle', word: 'Disabled' },
  enabled: { shape: 'circle', tone: 'good', word: 'Enabled' },
  online: { shape: 'circle', tone: 'good', word: 'Online' },
  offline: { shape: 'triangle', tone: 'bad', word: 'Offline' },
  revoked: { shape: 'cross', tone: 'idle', word: 'Revoked' },
  open: { shape: 'triangle', tone: 'bad', word: 'Open' },
  closed: { shape: 'circle', tone: 'idle', word: 'Closed' },
  running: { shape: 'ring', tone: 'wait', word: 'Running' },
  completed: { shape: 'circle', tone: 'good', word: 'Completed' },
  delivered_to: { shape: 'circle', tone: 'good', word: 'Delivered to' },
} as const satisfies Record<string, Look>

export type Status = keyof typeof LOOKS

export function wordOf(status: Status): string {
  return LOOKS[status].word
}

export function StatusMark({ status, word }: { status: Status; word?: string }) {
  return (
    <span className="status">
      <StatusShape status={status} title="" />
      {word ?? LOOKS[status].word}
    </span>
  )
}

/** The shape alone; the word is its accessible name. An empty title: the words stand beside it. */
export function StatusShape({ status, title }: { status: Status; title?: string }) {
  const { shape, tone, word } = LOOKS[status]
  return (
    <svg
      className={`shape ${tone}`}
      viewBox="0 0 12 12"
      width="12"
      height="12"
      {...(title === '' ? { 'aria-hidden': true } : { role: 'img', 'aria-label': title ?? word })}
    >
      {title !== '' && <title>{title ?? word}</title>}
      {SHAPES[shape]}
    </svg>
  )
}

const SHAPES: Record<Shape, React.ReactNode> = {
  circle: <circle cx="6" cy="6" r="5" fill="currentColor" />,
  triangle: <path d="M6 .8 11.6 11H.4z" fill="currentColor" />,
  diamond: <path d="M6 .4 11.6 6 6 11.6.4 6z" fill="currentColor" />,
  square: (
    <rect x="1.5" y="1.5" width="9" height="9" fill="none" stroke="currentColor" strokeWidth="2" />
  ),
  ring: <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" strokeWidth="2" />,
  cross: <path d="m2 2 8 8m0-8-8 8" fill="none" stroke="currentColor" strokeWidth="2.4" />,
  dash: <path d="M1 6h10" fill="none" stroke="currentColor" strokeWidth="2.6" />,
}

import type { Schemas } from '../../api/client.ts'
import { Icon } from '../../parts/icon.tsx'
import { span } from '../../parts/words/numbers.ts'

import './stages.css'

const WORDS: Record<Schemas['TimelinePhase']['name'], string> = {
  received: 'Received',
  verified: 'Verified',
  stored: 'Stored',
  matched: 'Matched',
  dispatched: 'Dispatched',
}

/** The way through ingest, before any delivery. */
export function Stages({ phases }: { phases: readonly Schemas['TimelinePhase'][] }) {
  return (
    <ol className="stages" aria-label="Stages of ingest">
      {phases.map(({ name, durationMs }, index) => (
        <li key={name}>
          {index > 0 && <Icon name="arrow" />}
          <span>{WORDS[name]}</span>
          {durationMs !== null && <code className="muted">{span(durationMs)}</code>}
        </li>
      ))}
    </ol>
  )
}

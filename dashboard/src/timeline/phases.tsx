import type { Schemas } from '../api/client.ts'
import { span } from '../parts/words/numbers.ts'

import './phases.css'

/** Where the time of an attempt went. Phases that a kept connection skips are left out. */
export function Phases({ phases }: { phases: Schemas['AttemptPhases'] }) {
  const parts = partsOf(phases)
  if (parts.length === 0) return null
  const total = parts.reduce((sum, { ms }) => sum + ms, 0)
  return (
    <figure className="phases">
      <div className="bars" aria-hidden="true">
        {parts.map(({ name, ms }, index) => (
          <i key={name} data-part={index} style={{ flexGrow: Math.max(ms, total / 60) }} />
        ))}
      </div>
      <figcaption>
        {parts.map(({ name, ms }, index) => (
          <span key={name}>
            <i data-part={index} aria-hidden="true" /> {name} <code>{span(ms)}</code>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

function partsOf({ dnsMs, connectMs, tlsMs, firstByteMs, totalMs }: Schemas['AttemptPhases']) {
  const named = [
    { name: 'name look-up', ms: dnsMs },
    { name: 'connect', ms: connectMs },
    { name: 'TLS', ms: tlsMs },
    { name: 'first byte', ms: firstByteMs },
  ].flatMap(({ name, ms }) => (ms === null ? [] : [{ name, ms }]))
  const known = named.reduce((sum, { ms }) => sum + ms, 0)
  const rest = Math.max(0, totalMs - known)
  return totalMs > 0 && rest > 0 ? [...named, { name: 'rest', ms: rest }] : named
}

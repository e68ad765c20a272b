import { useState } from 'react'

import type { Schemas } from '../../api/client.ts'
import { CopyButton } from '../words/copy.tsx'
import { hexOf } from './hex.ts'
import { Tree } from './tree.tsx'

/** Larger texts would hold the page up. */
const SHOWN_MAX = 200_000

const VIEWS = ['Tree', 'Raw', 'Hex'] as const

/** The body: as it was understood, as text, and byte for byte. */
export function Payload({ event }: { event: Schemas['Event'] }) {
  const { payload, raw, rawBase64, isBinary, method } = event
  const hasTree = typeof payload === 'object' && payload !== null
  const [view, setView] = useState<(typeof VIEWS)[number]>(
    isBinary && method !== 'MAIL' ? 'Hex' : hasTree ? 'Tree' : 'Raw',
  )
  return (
    <>
      <div className="buttons">
        {VIEWS.filter((name) => name !== 'Tree' || hasTree).map((name) => (
          <button
            key={name}
            type="button"
            className="button"
            aria-pressed={view === name}
            onClick={() => setView(name)}
          >
            {name}
          </button>
        ))}
        <CopyButton text={raw} label="Copy the body" />
      </div>
      {view === 'Tree' && <Tree value={payload} />}
      {view === 'Raw' && <Text text={raw} />}
      {view === 'Hex' && <Text text={hexOf(rawBase64)} />}
    </>
  )
}

function Text({ text }: { text: string }) {
  if (text === '') return <p className="muted">The body is empty.</p>
  return (
    <>
      <pre className="wrap" tabIndex={0} role="region" aria-label="Body">
        {text.slice(0, SHOWN_MAX)}
      </pre>
      {text.length > SHOWN_MAX && (
        <p className="muted">The first {SHOWN_MAX.toLocaleString('en-GB')} characters are shown.</p>
      )}
    </>
  )
}

import { useState } from 'react'

import './bars.css'

export interface Bar {
  /** The name of the span: its time. */
  label: string
  parts: readonly { name: string; tone: 'good' | 'bad' | 'busy' | 'idle'; value: number }[]
  /** Drawn over the bar, from the ground up: attempts that were repeats. */
  overlay: number
}

/** Stacked bars with retries visible. Arrow keys choose a span, Enter opens it. */
export function Bars({
  bars,
  label,
  overlayName,
  open,
}: {
  bars: readonly Bar[]
  label: string
  overlayName: string
  open: (index: number) => void
}) {
  const [chosen, setChosen] = useState<number>()
  const highest = Math.max(1, ...bars.map(({ parts, overlay }) => Math.max(overlay, sumOf(parts))))
  const shown = chosen === undefined ? undefined : bars[chosen]
  const height = (value: number) => `${(value / highest) * 100}%`
  const move = (event: React.KeyboardEvent) => {
    const at = chosen ?? bars.length - 1
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars.length - 1 }[event.key]
    if (to !== undefined) {
      event.preventDefault()
      setChosen(Math.max(0, Math.min(bars.length - 1, to)))
    }
    if (event.key === 'Enter') open(at)
  }
  return (
    <figure className="bars-chart">
      <div className="scale" aria-hidden="true">
        <span>{highest}</span>
        <span>0</span>
      </div>
      <div
        className="bars"
        role="slider"
        tabIndex={0}
        aria-label={`${label}: choose a span, Enter opens its events`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, bars.length - 1)}
        aria-valuenow={chosen ?? Math.max(0, bars.length - 1)}
        aria-valuetext={spoken(shown ?? bars.at(-1), overlayName)}
        onKeyDown={move}
        onMouseLeave={() => setChosen(undefined)}
      >
        {bars.map((bar, index) => (
          <span
            key={bar.label}
            className={index === chosen ? 'pile chosen' : 'pile'}
            onMouseEnter={() => setChosen(index)}
            onClick={() => open(index)}
          >
            {bar.parts.map(({ name, tone, value }) => (
              <i key={name} className={tone} style={{ height: height(value) }} />
            ))}
            {bar.overlay > 0 && <b style={{ height: height(bar.overlay) }} />}
          </span>
        ))}
      </div>
      <figcaption>
        {shown === undefined ? (
          <Legend bar={bars[0]} overlayName={overlayName} />
        ) : (
          spoken(shown, overlayName)
        )}
      </figcaption>
    </figure>
  )
}

const sumOf = (parts: Bar['parts']): number => parts.reduce((sum, { value }) => sum + value, 0)

function spoken(bar: Bar | undefined, overlayName: string): string {
  if (bar === undefined) return 'nothing'
  const counts = bar.parts.map(({ name, value }) => `${value} ${name}`)
  return `${bar.label}: ${[...counts, `${bar.overlay} ${overlayName}`].join(', ')}`
}

function Legend({ bar, overlayName }: { bar: Bar | undefined; overlayName: string }) {
  return (
    <span className="legend">
      {bar?.parts.map(({ name, tone }) => (
        <span key={name}>
          <i className={tone} aria-hidden="true" /> {name}
        </span>
      ))}
      <span>
        <b aria-hidden="true" /> {overlayName}
      </span>
    </span>
  )
}

import { useState } from 'react'

import './bars.css'

export interface Bar {
  /** The name of the span: its time. */
  label: string
  parts: readonly { name: string; tone: 'good' | 'bad' | 'busy' | 'idle'; value: number }[]
  /** Drawn over the bar, from the ground up: attempts that were repeats. */
  overlay: number
  /** Something that may be why it is as it is, in words; a mark stands over the bar. */
  mark: string | undefined
}

/** Bars that lie side by side, from one to another. */
type Run = readonly [from: number, to: number]

const within = (index: number, [one, other]: Run): boolean =>
  index >= Math.min(one, other) && index <= Math.max(one, other)

/**
 * Stacked bars with retries visible. Arrow keys choose a span, with Shift several, Enter opens what is chosen; a drag over
 * several narrows the chart to them.
 */
export function Bars({
  bars,
  label,
  overlayName,
  open,
  narrow,
}: {
  bars: readonly Bar[]
  label: string
  overlayName: string
  open: (first: number, last: number) => void
  narrow: (first: number, last: number) => void
}) {
  const [chosen, setChosen] = useState<Run>()
  const [isDragging, setDragging] = useState(false)
  const highest = Math.max(1, ...bars.map(({ parts, overlay }) => Math.max(overlay, sumOf(parts))))
  const shown = chosen === undefined ? undefined : bars.filter((_, index) => within(index, chosen))
  const height = (value: number) => `${(value / highest) * 100}%`
  const end = bars.length - 1
  const act = (run: Run, what: typeof open) => what(Math.min(...run), Math.max(...run))
  const move = (event: React.KeyboardEvent) => {
    const [from, at] = chosen ?? [end, end]
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: end }[event.key]
    if (to !== undefined) {
      event.preventDefault()
      const next = Math.max(0, Math.min(end, to))
      setChosen([event.shiftKey ? from : next, next])
    }
    if (event.key === 'Enter') act(chosen ?? [end, end], open)
  }
  const drop = (index: number) => {
    const run: Run = isDragging && chosen !== undefined ? [chosen[0], index] : [index, index]
    setDragging(false)
    act(run, run[0] === index ? open : narrow)
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
        aria-label={`${label}: choose a span, with Shift several, Enter opens their events`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, end)}
        aria-valuenow={chosen?.[1] ?? Math.max(0, end)}
        aria-valuetext={spoken(shown ?? bars.slice(-1), overlayName)}
        onKeyDown={move}
        onPointerLeave={() => {
          setDragging(false)
          setChosen(undefined)
        }}
      >
        {bars.map((bar, index) => (
          <span
            key={bar.label}
            className={chosen !== undefined && within(index, chosen) ? 'pile chosen' : 'pile'}
            onPointerEnter={() => setChosen([isDragging ? (chosen?.[0] ?? index) : index, index])}
            onPointerDown={(event) => {
              // A finger that scrolls is no brush.
              if (event.pointerType !== 'mouse' || event.button !== 0) return
              event.preventDefault()
              setDragging(true)
              setChosen([index, index])
            }}
            onPointerUp={() => drop(index)}
          >
            {bar.parts.map(({ name, tone, value }) => (
              <i key={name} className={tone} style={{ height: height(value) }} />
            ))}
            {bar.overlay > 0 && <b style={{ height: height(bar.overlay) }} />}
            {bar.mark !== undefined && <u title={bar.mark} />}
          </span>
        ))}
      </div>
      <figcaption>
        {shown === undefined ? (
          <Legend bars={bars} overlayName={overlayName} />
        ) : (
          spoken(shown, overlayName)
        )}
      </figcaption>
    </figure>
  )
}

const sumOf = (parts: Bar['parts']): number => parts.reduce((sum, { value }) => sum + value, 0)

function spoken(bars: readonly Bar[], overlayName: string): string {
  const [first] = bars
  if (first === undefined) return 'nothing'
  const last = bars.at(-1) ?? first
  const when = last === first ? first.label : `${first.label} to ${last.label}`
  const counts = first.parts.map(({ name }) => {
    const values = bars.map(({ parts }) => parts.find((part) => part.name === name)?.value ?? 0)
    return `${values.reduce((sum, value) => sum + value, 0)} ${name}`
  })
  const overlay = bars.reduce((sum, bar) => sum + bar.overlay, 0)
  const marks = bars.flatMap(({ mark }) => mark ?? [])
  return `${when}: ${[...counts, `${overlay} ${overlayName}`, ...marks].join(', ')}`
}

function Legend({ bars, overlayName }: { bars: readonly Bar[]; overlayName: string }) {
  const [bar] = bars
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
      {bars.some(({ mark }) => mark !== undefined) && (
        <span>
          <u aria-hidden="true" /> a change of the configuration
        </span>
      )}
    </span>
  )
}

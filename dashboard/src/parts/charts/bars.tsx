import './bars.css'
import { isWithin, useChosenRun } from './chosen-run.ts'

export interface Bar {
  /** The name of the span: its time. */
  label: string
  parts: readonly { name: string; tone: 'good' | 'bad' | 'busy' | 'idle'; value: number }[]
  /** Drawn over the bar, from the ground up: attempts that were repeats. */
  overlay: number
  /** Something that may be why it is as it is, in words; a mark stands over the bar. */
  mark: string | undefined
}

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
  const end = Math.max(0, bars.length - 1)
  const { chosen, ofChart, ofBar } = useChosenRun(end, open, narrow)
  const highest = Math.max(1, ...bars.map(({ parts, overlay }) => Math.max(overlay, sumOf(parts))))
  const shown = chosen && bars.filter((_, index) => isWithin(index, chosen))
  const height = (value: number) => `${(value / highest) * 100}%`
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
        aria-valuemax={end}
        aria-valuenow={chosen?.[1] ?? end}
        aria-valuetext={spoken(shown ?? bars.slice(-1), overlayName)}
        {...ofChart}
      >
        {bars.map((bar, index) => (
          <span
            key={bar.label}
            className={chosen && isWithin(index, chosen) ? 'pile chosen' : 'pile'}
            {...ofBar(index)}
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

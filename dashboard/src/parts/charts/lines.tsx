import './lines.css'

const WIDTH = 600
const HEIGHT = 140
/** Room for half of a stroke. */
const EDGE = 4

export interface Line {
  name: string
  /** How it is drawn, so that colour is not all that tells lines apart. */
  stroke: 'plain' | 'dashed' | 'dotted'
  /** A value for each span of time; null is a gap. */
  values: readonly (number | null)[]
  /** The top of its scale. */
  highest: number
  /** The value that stands in the legend, in words. */
  said: string
}

/** Lines over the same spans of time, on a logarithmic axis: both ends can be read. */
export function Lines({
  label,
  lines,
  note,
}: {
  label: string
  lines: readonly Line[]
  note: string
}) {
  const said = lines.map((line) => `${line.name} ${line.said}`).join(', ')
  return (
    <figure className="lines">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${said}`}
      >
        {lines.map((line) => (
          <path key={line.name} className={line.stroke} d={pathOf(line)} />
        ))}
        {lines.map((line) => (
          <path key={line.name} className={`${line.stroke} dots`} d={dotsOf(line)} />
        ))}
      </svg>
      <figcaption>
        {lines.map(({ name, stroke, said: words }) => (
          <span key={name}>
            <i className={stroke} aria-hidden="true" /> {name} <code>{words}</code>
          </span>
        ))}
        <span className="muted">{note}</span>
      </figcaption>
    </figure>
  )
}

function pathOf(line: Line): string {
  let path = ''
  line.values.forEach((value, index) => {
    if (value === null) return
    const isFirst = (line.values[index - 1] ?? null) === null
    path += `${isFirst ? 'M' : 'L'}${placeOf(line, index, value)}`
  })
  return path
}

/** A value alone between gaps. */
function dotsOf(line: Line): string {
  const alone = line.values.map((value, index) => {
    const isAlone = (line.values[index - 1] ?? line.values[index + 1] ?? null) === null
    return value !== null && isAlone ? `M${placeOf(line, index, value)}h.1` : ''
  })
  return alone.join('')
}

function placeOf({ values, highest }: Line, index: number, value: number): string {
  const x =
    values.length < 2 ? WIDTH / 2 : EDGE + (index / (values.length - 1)) * (WIDTH - 2 * EDGE)
  const y = HEIGHT - EDGE - (Math.log1p(value) / Math.log1p(highest)) * (HEIGHT - 2 * EDGE)
  return `${x.toFixed(1)} ${y.toFixed(1)}`
}

import { placeOf, rulesOf } from '../../../timeline/axis.ts'

import './retry-ruler.css'

/** The attempts of a policy on the axis of the timeline. */
export function RetryRuler({ seconds }: { seconds: readonly number[] }) {
  const longest = Math.max(1, ...seconds) * 1000
  const left = (ms: number) => `${(placeOf(ms, longest) * 100).toFixed(2)}%`
  return (
    <div className="retry-ruler" aria-hidden="true">
      {rulesOf(longest, 0.09).map(({ place, label }) => (
        <span key={label} style={{ left: `${(place * 100).toFixed(2)}%` }}>
          {label}
        </span>
      ))}
      {seconds.map((at, index) => (
        <i key={index} style={{ left: left(at * 1000) }} />
      ))}
    </div>
  )
}

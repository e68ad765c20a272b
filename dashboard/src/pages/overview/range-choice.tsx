import { Link, useNavigate } from '@tanstack/react-router'

import { MomentBox } from '../../parts/lists/filters.tsx'
import { RANGES } from '../../routes/values.ts'
import { useProject } from '../../session/project.tsx'
import { boundsOf, SPANS, type Span } from './range.ts'

/** The newest hour, day, week or month, or from one moment to another, which a drag over the bars chooses as well. */
export function RangeChoice({ span }: { span: Span }) {
  const { projectId } = useProject()
  return (
    <nav className="buttons" aria-label="Range">
      {RANGES.map((each) => (
        <Link
          key={each}
          className={SPANS[each] === span ? 'button chosen' : 'button'}
          to="/p/$projectId"
          params={{ projectId }}
          search={{ range: each }}
          aria-current={SPANS[each] === span ? 'true' : undefined}
          replace
        >
          {each}
        </Link>
      ))}
      <details open={span.fixed !== undefined}>
        <summary className="button">From, to</summary>
        <Moments span={span} />
      </details>
    </nav>
  )
}

function Moments({ span }: { span: Span }) {
  const { projectId } = useProject()
  const navigate = useNavigate()
  const { from, to = new Date().toISOString() } = boundsOf(span)
  const change = (bounds: { from: string; to: string }) =>
    void navigate({ to: '/p/$projectId', params: { projectId }, search: bounds, replace: true })
  return (
    <div className="chips">
      <MomentBox
        label="From"
        value={from}
        onChange={(moment) => moment !== undefined && change({ from: moment, to })}
      />
      <MomentBox
        label="To"
        value={to}
        onChange={(moment) => moment !== undefined && change({ from, to: moment })}
      />
    </div>
  )
}

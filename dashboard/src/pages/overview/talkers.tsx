import { Link } from '@tanstack/react-router'

import { useNames } from '../../parts/names/names.ts'
import { whole } from '../../parts/words/numbers.ts'
import { useProject } from '../../session/project.tsx'
import { useCountsBySource } from './queries.ts'
import type { Span } from './range.ts'

const SHOWN = 5

interface Talker {
  accepted: number
  rejected: number
}

/** Who sends most, and who is refused most: the first question when a relay is flooded. */
export function Talkers({ span }: { span: Span }) {
  const { projectId } = useProject()
  const { nameOf } = useNames()
  const { data = [] } = useCountsBySource(span)
  const bySource = new Map<string, Talker>()
  for (const { group, events } of data) {
    if (group === undefined) continue
    const before = bySource.get(group) ?? { accepted: 0, rejected: 0 }
    bySource.set(group, {
      accepted: before.accepted + events.received + events.filtered + events.unmatched,
      rejected: before.rejected + events.rejected,
    })
  }
  const top = [...bySource]
    .toSorted(([, one], [, other]) => other.accepted + other.rejected - one.accepted - one.rejected)
    .slice(0, SHOWN)
  if (top.length === 0) return null
  return (
    <section className="section">
      <h2>Top talkers</h2>
      <table className="table cards">
        <thead>
          <tr>
            <th>Source</th>
            <th className="number">Accepted</th>
            <th className="number">Rejected</th>
            <th className="number">A second</th>
          </tr>
        </thead>
        <tbody>
          {top.map(([id, { accepted, rejected }]) => (
            <tr key={id}>
              <td>
                <Link to="/p/$projectId/sources/$sourceId" params={{ projectId, sourceId: id }}>
                  {nameOf(id)}
                </Link>
              </td>
              <td className="number" data-label="Accepted">
                {whole(accepted)}
              </td>
              <td className="number" data-label="Rejected">
                {rejected === 0 ? (
                  '0'
                ) : (
                  <Link
                    to="/p/$projectId/events"
                    params={{ projectId }}
                    search={{ source: id, status: 'rejected' }}
                  >
                    {whole(rejected)}
                  </Link>
                )}
              </td>
              <td className="number" data-label="A second">
                {(((accepted + rejected) / span.ms) * 1000).toFixed(2)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

import { useNames } from '../parts/names/names.ts'
import { CopyButton } from '../parts/words/copy.tsx'
import { span } from '../parts/words/numbers.ts'
import { StatusMark } from '../parts/words/status.tsx'
import { Time, timeText } from '../parts/words/time.tsx'
import { answerOf, triggerWord } from './error-words.ts'
import type { Attempt, Timeline } from './lanes.ts'

/** The same as the picture, for those who cannot see it and for those who want to paste it into a ticket. */
export function AttemptTable({
  timeline,
  receivedAt,
  shown,
  show,
}: {
  timeline: Timeline
  receivedAt: string
  shown: string | undefined
  show: (attemptId: string) => void
}) {
  const { nameOf } = useNames()
  const rows = timeline.deliveries.flatMap(({ connectionId, destinationId, attempts }) =>
    attempts.map((attempt) => ({
      attempt,
      way: `${connectionId === null ? 'test' : nameOf(connectionId)} → ${nameOf(destinationId)}`,
    })),
  )
  if (rows.length === 0) return <p className="muted">No attempt was made yet.</p>
  const start = Date.parse(receivedAt)
  const after = ({ startedAt }: Attempt) => span(Math.max(0, Date.parse(startedAt) - start))
  const text = [
    timeline.verdict.sentence,
    ...rows.map(
      ({ attempt, way }) =>
        `${timeText(attempt.startedAt)}  ${way}  attempt ${attempt.number} (${triggerWord(attempt.trigger)}): ${attempt.outcome}, ${answerOf(attempt)} in ${span(attempt.durationMs)}`,
    ),
  ].join('\n')
  return (
    <>
      <table className="table cards">
        <caption className="unseen">Attempts</caption>
        <thead>
          <tr>
            <th>Connection</th>
            <th>Attempt</th>
            <th>Started</th>
            <th>After receipt</th>
            <th>Outcome</th>
            <th>Answer</th>
            <th>Took</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ attempt, way }) => (
            <tr key={attempt.id}>
              <td>{way}</td>
              <td data-label="Attempt">
                <button
                  type="button"
                  className="button quiet"
                  aria-pressed={attempt.id === shown}
                  onClick={() => show(attempt.id)}
                >
                  {attempt.number}, {triggerWord(attempt.trigger)}
                </button>
              </td>
              <td data-label="Started">
                <Time at={attempt.startedAt} />
              </td>
              <td data-label="After receipt" className="mono whole">
                {after(attempt)}
              </td>
              <td data-label="Outcome">
                <StatusMark status={attempt.outcome} />
              </td>
              <td data-label="Answer">{answerOf(attempt)}</td>
              <td data-label="Took" className="mono whole">
                {span(attempt.durationMs)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="buttons">
        <CopyButton text={text} label="Copy as text" />
      </div>
    </>
  )
}

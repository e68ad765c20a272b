import { Pairs } from '../parts/payload/pairs.tsx'
import { span } from '../parts/words/numbers.ts'
import { StatusMark } from '../parts/words/status.tsx'
import { Time } from '../parts/words/time.tsx'
import { answerOf, errorWords, triggerWord } from './error-words.ts'
import type { Attempt } from './lanes.ts'
import { Phases } from './phases.tsx'

/** An attempt in full: how long each phase took, the request and the answer side by side. */
export function AttemptPanel({ attempt }: { attempt: Attempt }) {
  return (
    <section className="section" aria-label={`Attempt ${attempt.number}`}>
      <header>
        <h2>Attempt {attempt.number}</h2>
        <StatusMark status={attempt.outcome} />
        <span className="muted">
          {triggerWord(attempt.trigger)}, <Time at={attempt.startedAt} />, took{' '}
          {span(attempt.durationMs)}
        </span>
      </header>
      {attempt.errorCode !== null && (
        <p className="notice bad">
          <span>
            {errorWords(attempt.errorCode)}. <code>{attempt.errorCode}</code>
          </span>
        </p>
      )}
      <Phases phases={attempt.phases} />
      <div className="columns">
        <div className="form">
          <h3>Request</h3>
          <code>{attempt.requestUrl}</code>
          <Pairs pairs={attempt.requestHeaders} label="Headers of the request" />
        </div>
        <div className="form">
          <h3>Answer: {answerOf(attempt)}</h3>
          <Pairs pairs={attempt.responseHeaders} label="Headers of the answer" />
          {attempt.responseBody !== null && attempt.responseBody !== '' && (
            <pre className="wrap" tabIndex={0} role="region" aria-label="Body of the answer">
              {attempt.responseBody}
            </pre>
          )}
        </div>
      </div>
    </section>
  )
}

import { Link } from '@tanstack/react-router'

import type { Schemas } from '../../api/client.ts'
import { compact, span as spanText, whole } from '../../parts/words/numbers.ts'
import { useProject } from '../../session/project.tsx'
import { useCounts, useWaiting } from './queries.ts'
import { boundsOf, SPANS, type Span } from './range.ts'

import './figures.css'

type Bucket = Schemas['DashboardBucket']

const sum = (buckets: readonly Bucket[], of: (bucket: Bucket) => number): number =>
  buckets.reduce((total, bucket) => total + of(bucket), 0)

/** `99.21 %`: whole only when it is all. */
function shareOf(part: number, all: number): string {
  if (all === 0) return 'none yet'
  return `${((part / all) * 100).toFixed(part === all ? 0 : 2)} %`
}

/** Four numbers that say whether all is well. */
export function Figures({ span, counts }: { span: Span; counts: readonly Bucket[] | undefined }) {
  const { projectId } = useProject()
  const succeeded = sum(counts ?? [], ({ deliveries }) => deliveries.succeeded)
  const failed = sum(counts ?? [], ({ deliveries }) => deliveries.failed)
  const bounds = boundsOf(span)
  return (
    <dl className="figures">
      <RateNow />
      <div>
        <dt>Succeeded</dt>
        <dd>{counts === undefined ? '…' : shareOf(succeeded, succeeded + failed)}</dd>
        <dd className="muted">
          {compact(succeeded)} of {compact(succeeded + failed)} in {span.words}
        </dd>
      </div>
      <Waiting />
      <div>
        <dt>Failed for good</dt>
        <dd className={failed > 0 ? 'bad' : undefined}>
          {counts === undefined ? '…' : whole(failed)}
        </dd>
        <dd className="muted">
          {failed === 0 ? (
            `in ${span.words}`
          ) : (
            <Link
              to="/p/$projectId/deliveries"
              params={{ projectId }}
              search={{ status: 'failed', ...bounds }}
            >
              Show them
            </Link>
          )}
        </dd>
      </div>
    </dl>
  )
}

/** The last whole minute: the present one has only begun. */
function RateNow() {
  const { data } = useCounts(SPANS['1h'])
  const last = data?.at(-2)?.events
  const received =
    last === undefined ? 0 : last.received + last.filtered + last.unmatched + last.rejected
  return (
    <div>
      <dt>Received now</dt>
      <dd>{data === undefined ? '…' : `${compact(received / 60)} a second`}</dd>
      <dd className="muted">{whole(received)} in the last minute</dd>
    </div>
  )
}

function Waiting() {
  const { projectId } = useProject()
  const { data } = useWaiting()
  const waiting = (data?.pending ?? 0) + (data?.throttled ?? 0)
  const age = data?.oldestPendingAgeSeconds ?? null
  return (
    <div>
      <dt>Waiting</dt>
      <dd>{data === undefined ? '…' : whole(waiting)}</dd>
      <dd className="muted">
        {waiting === 0 ? (
          'nothing waits'
        ) : (
          <>
            {age !== null && `oldest ${spanText(age * 1000)}, `}
            {whole(data?.throttled ?? 0)} throttled,{' '}
            <Link
              to="/p/$projectId/deliveries"
              params={{ projectId }}
              search={{ status: (data?.pending ?? 0) > 0 ? 'pending' : 'throttled' }}
            >
              show
            </Link>
          </>
        )}
      </dd>
    </div>
  )
}

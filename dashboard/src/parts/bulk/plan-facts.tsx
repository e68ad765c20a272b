import type { Schemas } from '../../api/client.ts'
import { useUsage } from '../../session/usage.ts'
import { useNames } from '../names/names.ts'
import { counted, span, whole } from '../words/numbers.ts'
import { Time } from '../words/time.tsx'
import { KINDS } from './kinds.ts'

type Plan = Schemas['OperationPlan']
type Planned = Schemas['PlannedDestination']

/** Destinations that are shown; the rest is one line. */
const SHOWN = 8

const LEFT_OUT: Readonly<Record<string, string>> = {
  past_retention: 'past the retention of the plan',
  rejected: 'never verified',
  duplicate: 'a duplicate',
  in_flight: 'in flight',
  throttled: 'held back by pacing',
  test_delivery: 'of a test',
  destination_deleted: 'of a deleted destination',
  connection_deleted: 'of a deleted connection',
}

/** How far the work would reach: since when, what is left out, where to, how long, and what it costs. */
export function PlanFacts({ plan }: { plan: Plan }) {
  const { kind, oldestAt, newestAt, refused } = plan
  const { noun, nouns } = KINDS[kind]
  return (
    <>
      {oldestAt !== null && newestAt !== null && (
        <p>
          From <Time at={oldestAt} /> to <Time at={newestAt} />
          {plan.truncated && ', and there are more'}.
        </p>
      )}
      {Object.entries(refused).map(([reason, count]) => (
        <p key={reason}>
          Left out: {counted(count, noun, nouns)} {LEFT_OUT[reason] ?? reason.replaceAll('_', ' ')}.
        </p>
      ))}
      <Destinations plan={plan} />
      {kind !== 'cancel' && plan.deliveries > 0 && <p>{paceOf(plan)}</p>}
      {plan.quotaDeliveries > 0 && <Quota plan={plan} />}
    </>
  )
}

function Destinations({ plan }: { plan: Plan }) {
  const { nameOf } = useNames()
  const { destinations, destinationCount, kind } = plan
  if (destinations.length === 0) return null
  const shown = destinations.slice(0, SHOWN)
  const rest = destinationCount - shown.length
  return (
    <table className="table" aria-label="By destination">
      <thead>
        <tr>
          <th>Destination</th>
          <th>{plan.isUpperBound ? 'At most' : 'Deliveries'}</th>
          {kind !== 'cancel' && <th>At its pace</th>}
        </tr>
      </thead>
      <tbody>
        {shown.map((one) => (
          <tr key={one.destinationId}>
            <td>{nameOf(one.destinationId)}</td>
            <td className="number">{whole(one.deliveries)}</td>
            {kind !== 'cancel' && <td>{timeAt(one)}</td>}
          </tr>
        ))}
        {rest > 0 && (
          <tr>
            <td className="muted" colSpan={kind === 'cancel' ? 2 : 3}>
              and {counted(rest, 'other destination')}
            </td>
          </tr>
        )}
      </tbody>
    </table>
  )
}

function timeAt({ isEnabled, seconds }: Planned): string {
  if (!isEnabled) return 'waits until it is enabled'
  return seconds === null ? 'not paced' : `about ${span(seconds * 1000)}`
}

function paceOf({ seconds }: Plan): string {
  return seconds === null
    ? 'Nothing paces the deliveries: they go out as quickly as their destinations answer.'
    : `At present pacing about ${span(seconds * 1000)}, if nothing else is sent.`
}

function Quota({ plan }: { plan: Plan }) {
  const { data } = useUsage()
  const left =
    data === undefined || data.limit === null ? null : Math.max(0, data.limit - data.deliveries)
  return (
    <p className={left !== null && left < plan.quotaDeliveries ? undefined : 'muted'}>
      It uses {plan.isUpperBound && 'at most '}
      {counted(plan.quotaDeliveries, 'delivery', 'deliveries')} of the quota
      {left !== null && `, of which ${whole(left)} are left`}.
    </p>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'

import { callAuth } from '../../api/auth.ts'
import type { Schemas } from '../../api/client.ts'
import { DangerAction } from '../../parts/danger-action.tsx'
import { Loaded } from '../../parts/states.tsx'
import { counted, whole } from '../../parts/words/numbers.ts'
import { PageTitle } from '../../parts/words/page-title.tsx'
import { Time } from '../../parts/words/time.tsx'
import { useOptions } from '../../session/options.ts'
import { useOrganisationPath } from '../../session/organisation.ts'
import { useProject } from '../../session/project.tsx'
import { Usage } from './usage.tsx'

const PLANS = ['hobby', 'launch', 'scale', 'enterprise'] as const

export function Plan() {
  const { api, projectId } = useProject()
  const options = useOptions()
  const plan = useQuery({
    queryKey: [projectId, 'plan'],
    queryFn: () => api.getPlan(),
  })
  return (
    <>
      <header>
        <PageTitle>Plan and usage</PageTitle>
      </header>
      <Usage />
      <Loaded query={plan} noun="The plan">
        {(found) => (
          <>
            <Entitlements plan={found} />
            {options?.hasSelfServicePlans === false ? (
              <p>The operator of this installation changes plans.</p>
            ) : (
              <Change plan={found} />
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

const orAny = (value: number | null): string => (value === null ? 'no limit' : whole(value))

function Entitlements({ plan: { plan, entitlements } }: { plan: Schemas['BillingPlan'] }) {
  const { maxDeliveriesPerSecond, burstDeliveriesPerSecond, deliveryQuota } = entitlements
  return (
    <section className="section">
      <h2>The {plan} plan grants</h2>
      <dl className="facts">
        <dt>Deliveries a window</dt>
        <dd>
          {orAny(deliveryQuota)}
          {deliveryQuota !== null &&
            (entitlements.isHardCapped ? ', then they stop' : ', then they are metered')}
        </dd>
        <dt>Deliveries a second</dt>
        <dd>
          {orAny(maxDeliveriesPerSecond)}
          {burstDeliveriesPerSecond !== null && `, ${whole(burstDeliveriesPerSecond)} in a burst`}
        </dd>
        <dt>Events are kept</dt>
        <dd>{counted(entitlements.retentionDays, 'day')}</dd>
        <dt>Connectors</dt>
        <dd>
          {orAny(entitlements.connectors)}; replicas of each:{' '}
          {orAny(entitlements.replicasPerConnector)}
        </dd>
        <dt>Seats</dt>
        <dd>{orAny(entitlements.seats)}</dd>
      </dl>
    </section>
  )
}

function Change({ plan: { plan, subscription } }: { plan: Schemas['BillingPlan'] }) {
  const { api, projectId } = useProject()
  const path = useOrganisationPath()
  const client = useQueryClient()
  const again = () => client.invalidateQueries({ queryKey: [projectId] })
  const scheduled = subscription?.scheduledChange ?? null
  return (
    <section className="section">
      <h2>Change the plan</h2>
      {subscription !== null && (
        <p>
          The period ends <Time at={subscription.currentPeriodEnd} />
          {subscription.cancelAtPeriodEnd && ', and the subscription with it'}.
        </p>
      )}
      {scheduled !== null && (
        <div className="notice busy">
          <span>
            From <Time at={scheduled.at} /> on: {scheduled.plan}.
          </span>
          <div className="buttons">
            <DangerAction
              name="Take it back…"
              title="Keep the present plan?"
              action="Keep it"
              run={async () => {
                await api.revertScheduledChange()
                await again()
              }}
            />
          </div>
        </div>
      )}
      <div className="buttons">
        {PLANS.filter((each) => each !== plan).map((each) => (
          <DangerAction
            key={each}
            name={`To ${each}…`}
            title={`Change to the ${each} plan?`}
            action={`Change to ${each}`}
            run={async () => {
              await callAuth('POST', `${path}/checkout`, { plan: each })
              await again()
            }}
          >
            <p>A larger plan takes effect now, a smaller one at the end of the period.</p>
          </DangerAction>
        ))}
      </div>
    </section>
  )
}

import { Loaded } from '../../parts/states.tsx'
import { whole } from '../../parts/words/numbers.ts'
import { Time } from '../../parts/words/time.tsx'
import { useUsage } from '../../session/usage.ts'

/** Used, and where it leads if the window goes on as it began. */
export function Usage() {
  const usage = useUsage()
  return (
    <Loaded query={usage} noun="The usage">
      {({ deliveries, limit, overage, windowStart, resetAt }) => {
        const passed = Math.max(1, Date.now() - Date.parse(windowStart))
        const spanMs = Date.parse(resetAt) - Date.parse(windowStart)
        const expected = Math.round((deliveries / passed) * spanMs)
        return (
          <section className="form">
            <p>
              <strong>{whole(deliveries)}</strong>
              {limit === null ? '' : ` of ${whole(limit)}`} deliveries since{' '}
              <Time at={windowStart} />. At this rate {whole(expected)} until <Time at={resetAt} />
              {overage > 0 && `; ${whole(overage)} are over the plan`}.
            </p>
            {limit !== null && (
              <meter
                min={0}
                max={limit}
                value={Math.min(deliveries, limit)}
                aria-label="Deliveries used"
              />
            )}
            <p className="muted">
              Each connection that an event is delivered to counts once, and replays count. Retries,
              duplicates and tests do not.
            </p>
          </section>
        )
      }}
    </Loaded>
  )
}

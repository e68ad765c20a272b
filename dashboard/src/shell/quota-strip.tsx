import { whole } from '../parts/words/numbers.ts'
import { Time } from '../parts/words/time.tsx'
import { useUsage } from '../session/usage.ts'

/** Stands on every page of a project while the quota is used up. */
export function QuotaStrip() {
  const { data } = useUsage()
  if (data === undefined || data.limit === null || data.deliveries < data.limit) return null
  return (
    <p className="notice busy" role="status">
      <span>
        {whole(data.deliveries)} of {whole(data.limit)} deliveries of this window are used. The next
        window begins <Time at={data.resetAt} />.
      </span>
    </p>
  )
}

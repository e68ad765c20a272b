import { expect } from 'vitest'

import { MINUTE_MS } from '../../core/clock.ts'
import { foldDeliveries } from '../../core/db/statistics/folds.ts'
import { eventually, type Relay, type Route } from './relay.ts'
import { uuid } from './seed.ts'

/** Sends an event and waits until the failure, or success, of its attempt is noted of the destination, to the minute. */
export async function noteAttempt(
  relay: Relay,
  { source, destination }: Route,
  status = 'failed',
): Promise<void> {
  const delivery = await relay.reaches(await relay.accept(source), { status })
  const startedAtMs = Date.parse(delivery.lastAttempt.at)
  const outcome = status === 'failed' ? 'last_failure_at' : 'last_success_at'
  await eventually(async () => {
    await foldDeliveries(relay.db)
    const row = await relay.db
      .selectFrom('destination_failure')
      .select(outcome)
      .where('destination_id', '=', uuid('dst', destination.id))
      .executeTakeFirst()
    const notedAtMs = row?.[outcome]?.getTime() ?? 0
    expect(notedAtMs).toBeGreaterThanOrEqual(startedAtMs - (startedAtMs % MINUTE_MS))
  })
}

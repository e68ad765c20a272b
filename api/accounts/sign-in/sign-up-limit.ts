import { DAY_MS } from '../../../core/clock.ts'
import type { Db } from '../../../core/db/connection/db.ts'
import { takeAllowance } from '../../../core/db/connectors/public-limits.ts'
import { networkOf } from '../../../core/egress/address.ts'
import { refuse } from '../../../core/errors.ts'
import { SIGN_UPS_OF_NETWORK } from '../../../core/limits.ts'
import { wideNetworkOf } from '../../auth/client-address.ts'
import type { Deps } from '../../deps.ts'

/**
 * Counts an organisation that a stranger makes. Refuses with RATE_LIMITED when their address, or the network around it, has
 * made as many as a day allows: what organisations share is worth little where anybody has any number of them.
 */
export async function takeSignUp(
  db: Db,
  { accounts }: Pick<Deps, 'accounts'>,
  address: string,
): Promise<void> {
  const perDay = accounts.signUpsPerDay
  const bounds = [
    { scope: `sign-up:${networkOf(address)}`, limit: perDay },
    { scope: `sign-up:${wideNetworkOf(address)}`, limit: perDay * SIGN_UPS_OF_NETWORK },
  ]
  for (const { scope, limit } of bounds) {
    const intervalMs = Math.ceil(DAY_MS / limit)
    const waitMs = await takeAllowance(db, scope, { burst: limit, intervalMs })
    if (waitMs === 0) continue
    const retryAfterSeconds = Math.ceil(waitMs / 1_000)
    refuse('RATE_LIMITED', `Too many organisations were made from your network today`, {
      limit,
      remaining: 0,
      retryAfterSeconds,
    })
  }
}

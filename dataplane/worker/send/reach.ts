import type { Transport } from '../../../core/delivery/transport.ts'
import type { Destination } from './destination.ts'

/** The transport to a destination; undefined when none may reach it. */
export type Reach = (destination: Destination) => Transport | undefined

/** The agents of a connector say themselves what they may reach. */
export function openReach(direct: Transport, through: (connectorId: string) => Transport): Reach {
  return ({ isBlocked, connectorId }) => {
    if (connectorId !== null) return through(connectorId)
    return isBlocked ? undefined : direct
  }
}

import type { Transport } from '../../../core/delivery/transport.ts'
import type { Destination } from './destination.ts'

/** The transport to a destination; undefined when none may reach it. */
export type Reach = (destination: Destination) => Transport | undefined

export function openReach(direct: Transport): Reach {
  return ({ isBlocked }) => (isBlocked ? undefined : direct)
}

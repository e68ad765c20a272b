import { bytesOfUuid } from '../ids.ts'
import { PARTITION_SPREAD, PARTITIONS } from '../limits.ts'

/**
 * The partition of a delivery: one for an organisation under plan pacing, so that both pacing scopes live in one
 * memory; spread by destination over a few neighbours where there is no plan pacing. (architecture: Delivery)
 */
export function partitionOf(
  organisationId: string,
  destinationId: string,
  isPaced: boolean,
): number {
  const home = tailOf(organisationId) % PARTITIONS
  if (isPaced) return home
  return home - (home % PARTITION_SPREAD) + (tailOf(destinationId) % PARTITION_SPREAD)
}

/**
 * The last byte of a UUIDv7 is random, hence evenly spread over what divides 256. With more of them V8 keeps some
 * partitions as floating-point numbers, and compiles what dispatches to them again and again.
 */
function tailOf(id: string): number {
  return bytesOfUuid(id).readUInt8(15)
}

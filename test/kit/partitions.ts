import { partitionOf } from '../../core/delivery/partition-of.ts'
import type { Relay, Resource } from './relay.ts'
import { uuid } from './seed.ts'

/** The partition of a destination of the world's organisation, which has no plan pacing. */
export function homeOf(relay: Relay, destination: Resource): number {
  return partitionOf(uuid('org', relay.organisationId), uuid('dst', destination.id), false)
}

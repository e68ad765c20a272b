import type { Logger } from '../../core/log.ts'
import type { GuardedMember } from '../../core/settings/template-members.ts'
import type { Claims } from '../relay/claims.ts'
import type { Relays } from '../relay/relays.ts'
import type { Recorder } from '../runtime/events/recorder.ts'
import type { KubeClient } from '../runtime/kube/client.ts'
import type { SecretReader } from './secret-reader.ts'
import type { World } from './world.ts'

/** The things that every controller works with. */
export interface Deps {
  kube: KubeClient
  world: World
  relays: Relays
  claims: Claims
  secrets: SecretReader
  recorder: Recorder
  clusterId: string
  /** The image of agents whose Connector names none. */
  image: string
  /** Members of a template that are guarded and allowed. */
  allowedMembers: readonly GuardedMember[]
  log: Logger
}

import type { Presence } from '../relay/adoption.ts'
import type { Owner } from '../relay/markers.ts'
import type { Listed } from '../relay/relays.ts'
import { BY_UID } from './by.ts'
import type { World } from './world.ts'

/** Whether an object of this cluster is there, where the operator watches its namespace. */
export function presenceIn(world: World, listed: Listed): (owner: Owner) => Presence {
  return ({ namespace, uid }) => {
    if (!world.watches(namespace)) return 'unseen'
    return world[listed].by(BY_UID, uid).length > 0 ? 'alive' : 'gone'
  }
}

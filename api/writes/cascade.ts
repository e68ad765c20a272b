import { connectionsOf, type Connection } from '../../core/db/configuration/connections.ts'
import type { Db } from '../../core/db/connection/db.ts'
import { refuse } from '../../core/errors.ts'
import { demand } from '../auth/principal.ts'
import type { Call } from '../http/route.ts'

/** The connections that a deletion takes along. Refuses where there are any, unless the caller says so and may delete them. */
export async function cascadeOf(
  tx: Db,
  { principal, query }: Pick<Call<unknown, { cascade: boolean }>, 'principal' | 'query'>,
  kind: 'source' | 'destination',
  id: string,
): Promise<Connection[]> {
  const connections = await connectionsOf(tx, `${kind}_id`, id)
  if (connections.length === 0) return connections
  if (!query.cascade) {
    refuse(
      'CONFLICT',
      `Cannot delete ${kind}: ${connections.length} connections use it (cascade=true deletes them)`,
    )
  }
  demand(principal, { resource: 'connections', level: 'write', isExplicit: true })
  return connections
}

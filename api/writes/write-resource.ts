import type { Db } from '../../core/db/connection/db.ts'
import type { Reach } from '../../core/db/lists/page.ts'
import type { Prefix } from '../../core/ids.ts'
import type { Deps } from '../deps.ts'
import { refuseMissing } from '../http/failure.ts'
import type { Call } from '../http/route.ts'
import { audit, transact, type Change } from './transact.ts'

export interface Row {
  id: string
  updatedAt: Date
  secrets?: Buffer | null
}

/** How one kind of resource is stored, and who must hear of it. */
export interface Resource<R extends Row> {
  kind: Change['kind']
  prefix: Prefix
  /** The unique constraint of its names. */
  nameTaken: string
  /** Locks it. */
  find(tx: Db, reach: Reach, id: string): Promise<R | undefined>
  insert(tx: Db, row: R, deps: Deps): Promise<void>
  update(tx: Db, row: R): Promise<void>
  projectIdOf(row: R): string
  /** Throws when the row refers to what is not there. */
  check?(deps: Deps, tx: Db, written: Checked<R>): Promise<void>
  /** Tells the data plane after the commit; `before` is undefined for a row that was created. */
  announce(deps: Deps, row: R, before: R | undefined): Promise<void>
}

/** A row to be written; `part` begins the paths of faults. */
interface Checked<R> {
  row: R
  before: R | undefined
  part: string
}

/** The changed row, and the change as the audit records it, without secrets. */
export interface Written<R> {
  row: R
  shown: Record<string, unknown>
}

/** Stores a new resource with its audit row, and returns when the data plane knows. */
export async function createResource<R extends Row>(
  call: Pick<Call, 'deps' | 'principal'>,
  resource: Resource<R>,
  name: string,
  { row, shown }: Written<R>,
): Promise<R> {
  const { deps } = call
  await transact(deps, { constraint: resource.nameTaken, name }, async (tx) => {
    await resource.check?.(deps, tx, { row, before: undefined, part: 'body' })
    await resource.insert(tx, row, deps)
    await note(tx, call, resource, { verb: 'create', row, shown })
  })
  await resource.announce(deps, row, undefined)
  return row
}

/** Writes what `change` makes of the locked resource, with its audit row, and returns it when the data plane knows. */
export async function writeResource<R extends Row, W extends Written<R>>(
  call: Call<{ id: string }>,
  resource: Resource<R>,
  { verb, name, part = 'body' }: { verb: Change['verb']; name?: string | undefined; part?: string },
  change: (found: R, now: Date, tx: Db) => W | Promise<W>,
): Promise<W> {
  const { deps, reach, params } = call
  const taken = { constraint: resource.nameTaken, name }
  const { before, after } = await transact(deps, taken, async (tx) => {
    const found = await demandResource(tx, resource, reach, params.id)
    const written = await change(found, new Date(deps.clock.now()), tx)
    await resource.check?.(deps, tx, { row: written.row, before: found, part })
    await resource.update(tx, written.row)
    await note(tx, call, resource, { verb, ...written })
    return { before: found, after: written }
  })
  await resource.announce(deps, after.row, before)
  return after
}

/** The locked resource; refuses one that is absent or out of reach. */
export async function demandResource<R extends Row>(
  tx: Db,
  resource: Resource<R>,
  reach: Reach,
  id: string,
): Promise<R> {
  return (await resource.find(tx, reach, id)) ?? refuseMissing(resource.prefix, id)
}

/** Writes the audit row of a change that is made in `tx`. */
export async function note<R extends Row>(
  tx: Db,
  { deps, principal }: Pick<Call, 'deps' | 'principal'>,
  resource: Resource<R>,
  { verb, row, shown }: Written<R> & { verb: Change['verb'] },
): Promise<void> {
  const projectId = resource.projectIdOf(row)
  const { kind } = resource
  await audit(tx, deps, { principal, projectId, kind, verb, id: row.id, changes: shown })
}

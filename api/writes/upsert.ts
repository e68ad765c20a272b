import { isDeepStrictEqual } from 'node:util'

import type { Db } from '../../core/db/connection/db.ts'
import { refuseField } from '../../core/errors.ts'
import { sameBytes, sha256 } from '../../core/verify/request/encoding.ts'
import type { Call } from '../http/route.ts'
import { audit, transact, type Change } from './transact.ts'

/** Requests of the same name that come at once settle in two; a third needs the name deleted in between. */
const TRIES_MAX = 5

/** How one kind of resource is written by its name. */
interface Upsert<R extends Row> {
  kind: Change['kind']
  /** The unique constraint of its names. */
  constraint: string
  /** The resource that has the name, locked. */
  find(tx: Db): Promise<R | undefined>
  /** A new resource with every setting at its default. */
  make(now: Date): R
  /** The row as the request declares it. */
  declare(before: R, now: Date): R
  /** Throws when the row refers to what is not there. */
  check?: (tx: Db, row: R) => Promise<void>
  insert(tx: Db, row: R): Promise<void>
  update(tx: Db, row: R): Promise<void>
  projectIdOf(row: R): string
  /** The opened secrets of the row: sealing the same secret twice gives different bytes. */
  secretsOf?: (row: R) => unknown
  /** The row as the audit records it, without secrets. */
  shown: Record<string, unknown>
}

/** `before` is undefined when the row was created. */
export interface Upserted<R> {
  before: R | undefined
  row: R
}

interface Row {
  id: string
  updatedAt: Date
}

/**
 * Creates the resource or changes it to the declaration; an identical resource is not written. If several requests
 * bring a new name at once, one creates and the others find its resource.
 */
export async function upsert<R extends Row>(
  { deps, principal, params }: Call<{ name: string }>,
  kind: Upsert<R>,
): Promise<Upserted<R>> {
  const taken = { constraint: kind.constraint, name: params.name, tries: TRIES_MAX }
  return await transact(deps, taken, async (tx) => {
    const now = new Date(deps.clock.now())
    const before = await kind.find(tx)
    const row = kind.declare(before ?? kind.make(now), now)
    await kind.check?.(tx, row)
    if (before !== undefined && isUnchanged(before, row, kind.secretsOf))
      return { before, row: before }
    await (before === undefined ? kind.insert(tx, row) : kind.update(tx, row))
    await audit(tx, deps, {
      principal,
      projectId: kind.projectIdOf(row),
      kind: kind.kind,
      verb: before === undefined ? 'create' : 'update',
      id: row.id,
      changes: kind.shown,
    })
    return { before, row }
  })
}

/** A body may repeat the name; another one would be a rename, which this is not. */
export function refuseOtherName(inPath: string, inBody: string | undefined): void {
  if (inBody !== undefined && inBody !== inPath) {
    refuseField('body.name', 'Expected the name in the path, or none')
  }
}

function isUnchanged<R extends Row>(before: R, after: R, secretsOf?: (row: R) => unknown): boolean {
  if (!isDeepStrictEqual(plain(before), plain(after))) return false
  const digest = (row: R): Buffer => sha256(Buffer.from(JSON.stringify([secretsOf?.(row)])))
  return sameBytes(digest(before), digest(after))
}

/** As JSON, so that members that are undefined and members that are absent are the same. */
function plain(row: Row): unknown {
  return JSON.parse(JSON.stringify({ ...row, updatedAt: null, secrets: null }))
}

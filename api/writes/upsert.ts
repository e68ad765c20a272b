import { isDeepStrictEqual } from 'node:util'

import type { Db } from '../../core/db/connection/db.ts'
import { refuseField } from '../../core/errors.ts'
import type { Call } from '../http/route.ts'
import { transact } from './transact.ts'
import { note, type Resource, type Row } from './write-resource.ts'

/** Every description of an upsert begins with it. */
export const UPSERT_RULES =
  'For declarative clients: 201 if created, 200 if updated or already identical (in which case nothing is written). ' +
  'The body is the whole configuration: a member that is left out takes its default.'

export const ENABLED_STAYS = '`isEnabled` is the exception: it stays as it is when left out.'

/** Requests of the same name that come at once settle in two; a third needs the name deleted in between. */
const TRIES_MAX = 5

/** `before` is undefined when the row was created. */
export interface Upserted<R> {
  before: R | undefined
  row: R
}

/**
 * Creates the resource or changes it to the declaration; an identical resource is not written. If several requests
 * bring a new name at once, one creates and the others find its resource.
 */
export async function upsertResource<R extends Row>(
  call: Call<{ name: string }>,
  resource: Resource<R>,
  wish: {
    /** The id of the resource that has the name; locks it. */
    idOf(tx: Db): Promise<string | undefined>
    /** A new resource with every setting at its default. */
    make(now: Date): R
    /** The row as the request declares it. */
    declare(before: R, now: Date): R
    shown: Record<string, unknown>
  },
): Promise<Upserted<R>> {
  const { deps, reach, params } = call
  const taken = { constraint: resource.nameTaken, name: params.name, tries: TRIES_MAX }
  const upserted = await transact(deps, taken, async (tx): Promise<Upserted<R>> => {
    const now = new Date(deps.clock.now())
    const id = await wish.idOf(tx)
    const before = id === undefined ? undefined : await resource.find(tx, reach, id)
    const row = wish.declare(before ?? wish.make(now), now)
    await resource.check?.(deps, tx, { row, before, part: 'body' })
    if (before !== undefined && isUnchanged(before, row)) return { before, row: before }
    await (before === undefined ? resource.insert(tx, row, deps) : resource.update(tx, row))
    const verb = before === undefined ? 'create' : 'update'
    await note(tx, call, resource, { verb, row, shown: wish.shown })
    return { before, row }
  })
  await resource.announce(deps, upserted.row, upserted.before)
  return upserted
}

/** 201 for a row that was created, 200 for one that was there. */
export function upsertAnswer<R, V>(
  { before, row }: Upserted<R>,
  view: (row: R) => V,
): { status: 200; body: V } | { status: 201; body: V } {
  const body = view(row)
  return before === undefined ? { status: 201, body } : { status: 200, body }
}

/** A body may repeat the name; another one would be a rename, which this is not. */
export function refuseOtherName(inPath: string, inBody: string | undefined): void {
  if (inBody !== undefined && inBody !== inPath) {
    refuseField('body.name', 'Expected the name in the path, or none')
  }
}

/** Where a resource of this name is looked for and made. */
export function placeOf({ principal, project, params }: Call<{ name: string }>): {
  organisationId: string
  projectId: string
  name: string
} {
  return {
    organisationId: principal.organisationId,
    projectId: project(),
    name: params.name,
  }
}

/** Secrets that are the same keep their sealed bytes. */
function isUnchanged(before: Row, after: Row): boolean {
  return (
    isDeepStrictEqual(plain(before), plain(after)) &&
    isDeepStrictEqual(before.secrets, after.secrets)
  )
}

/** As JSON, so that members that are undefined and members that are absent are the same. */
function plain(row: Row): unknown {
  return JSON.parse(JSON.stringify({ ...row, updatedAt: null, secrets: null }))
}

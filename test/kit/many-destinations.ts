import { sql } from 'kysely'

import { encodeId, newId } from '../../core/ids.ts'
import {
  sealDestinationSecrets,
  openDestinationSecrets,
} from '../../core/secrets/destination-secrets.ts'
import { uuid } from './seed.ts'
import type { World } from './world.ts'

/** Stores copies of a destination, each with secrets of its own seal. Returns their TypeIDs. */
export async function copyDestination(
  world: World,
  destinationId: string,
  count: number,
): Promise<string[]> {
  const { db, keyring, clock } = world
  const row = await db
    .selectFrom('destination')
    .selectAll()
    .where('id', '=', uuid('dst', destinationId))
    .executeTakeFirstOrThrow()
  const organisationId = row.organisation_id
  const secrets = openDestinationSecrets(keyring, { ...row, organisationId })
  const copies = Array.from({ length: count }, () => {
    const id = newId(clock.now())
    return { id, sealed: sealDestinationSecrets(keyring, { id, organisationId }, secrets) }
  })
  await sql`
    insert into destination
    select (jsonb_populate_record(d, jsonb_build_object('id', c.id, 'name', d.name || ' ' || c.id, 'secrets', c.sealed))).*
    from destination d cross join unnest(${copies.map(({ id }) => id)}::uuid[], ${copies.map(({ sealed }) => sealed)}::bytea[]) as c (id, sealed)
    where d.id = ${row.id}::uuid`.execute(db)
  return copies.map(({ id }) => encodeId('dst', id))
}

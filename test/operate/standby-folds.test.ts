import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { holdLease, LEASE_HELD_MS } from '../../core/db/processes/leases.ts'
import { eventually, startRelay } from '../kit/relay.ts'
import { uuid } from '../kit/seed.ts'

const LEASE = 'housekeeper'

test('a housekeeper that stands by folds usage, all that there is at once', async () => {
  await using relay = await startRelay({ worker: false })
  const { db } = relay
  await sql`update lease set held_until = 'epoch' where name = ${LEASE}`.execute(db)
  expect(await holdLease(db, LEASE, 'leader')).toBeGreaterThan(1)
  const leading = setInterval(() => void holdLease(db, LEASE, 'leader'), LEASE_HELD_MS / 5)
  try {
    const organisation = uuid('org', relay.organisationId)
    await sql`
      insert into usage_delta (organisation_id, at, deliveries)
      select ${organisation}::uuid, now(), 1 from generate_series(1, 20001)`.execute(db)
    await eventually(async () => {
      const { rows } = await sql<{ left: number }>`
        select count(*)::int as left from usage_delta`.execute(db)
      expect(rows).toEqual([{ left: 0 }])
    })
    const { rows } = await sql`select holder from lease where name = ${LEASE}`.execute(db)
    expect(rows).toEqual([{ holder: 'leader' }])
  } finally {
    clearInterval(leading)
  }
})

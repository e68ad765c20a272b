import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, test } from 'vitest'

import { openDb, openPool } from '../../core/db/connection/db.ts'
import { startWorld } from '../kit/world.ts'

// On the 1st of November 2026 New York sets its clocks back.
const SETTINGS = [
  ['timezone', 'America/New_York'],
  ['datestyle', 'SQL, DMY'],
  ['intervalstyle', 'iso_8601'],
] as const

test.each([undefined, 'inserts', 'lookups', 'requests', 'tasks', 'lists'] as const)(
  'a server with a zone and a date style of its own changes no time: a pool for %s',
  async (planning) => {
    await using world = await startWorld()
    for (const [name, value] of SETTINGS) {
      const database = sql.id(new URL(world.databaseUrl).pathname.slice(1))
      await sql`alter database ${database} set ${sql.raw(name)} = ${sql.lit(value)}`.execute(
        world.db,
      )
    }
    const log = pino({ level: 'silent' })
    await using db = openDb(
      openPool({ url: world.databaseUrl, max: 1, log, ...(planning && { planning }) }),
    )
    const at = new Date('2026-10-31T23:30:00.123Z')
    const { rows } = await sql<Record<string, unknown>>`
      select ${at}::timestamptz as same, ${at}::timestamptz + interval '1 day' as later,
        date_trunc('day', ${at}::timestamptz) as day, ${at}::timestamptz::text as text,
        ${at}::timestamptz::date::text as date`.execute(db)
    expect(rows).toEqual([
      {
        same: at,
        later: new Date('2026-11-01T23:30:00.123Z'),
        day: new Date('2026-10-31T00:00:00Z'),
        text: '2026-10-31 23:30:00.123+00',
        date: '2026-10-31',
      },
    ])
  },
)

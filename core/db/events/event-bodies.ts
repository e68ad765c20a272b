import type pg from 'pg'

import { eachPartition } from '../connection/day-partitions.ts'

/**
 * The body of an event as it came; undefined when the event is not there, or not in this class any more. In base64, which
 * is two thirds of what PostgreSQL makes of bytes: 58 ms for 5 MiB instead of 85.
 */
export async function findEventBody(
  pool: pg.Pool,
  retentionClass: number,
  eventId: string,
): Promise<Buffer | undefined> {
  let body: Buffer | undefined
  await eachPartition('event', [{ retentionClass, id: eventId }], {
    placeOf: (place) => place,
    async run(table) {
      const { rows } = await pool.query<{ body: string }>({
        name: `find_event_body_in_${table}`,
        text: `select encode(raw, 'base64') as body from ${table} where class = $1::int2 and id = $2::uuid`,
        values: [retentionClass, eventId],
      })
      const [row] = rows
      body = row && Buffer.from(row.body, 'base64')
    },
  })
  return body
}

import type pg from 'pg'

/**
 * The body of an event as it came; undefined when the event is not there, or not in this class any more. In base64, which
 * is two thirds of what PostgreSQL makes of bytes: 58 ms for 5 MiB instead of 85.
 */
export async function findEventBody(
  pool: pg.Pool,
  eventClass: number,
  eventId: string,
): Promise<Buffer | undefined> {
  const { rows } = await pool.query<{ body: string }>({
    name: 'find_event_body',
    text: `select encode(raw, 'base64') as body from event where class = $1::int2 and id = $2::uuid`,
    values: [eventClass, eventId],
  })
  const [row] = rows
  return row && Buffer.from(row.body, 'base64')
}

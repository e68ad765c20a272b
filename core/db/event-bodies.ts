import type { Db } from './db.ts'

/** The body of an event as it came; undefined when the event is gone. */
export async function findEventBody(
  db: Db,
  eventClass: number,
  eventId: string,
): Promise<Buffer | undefined> {
  const row = await db
    .selectFrom('event')
    .select('raw')
    .where('class', '=', eventClass)
    .where('id', '=', eventId)
    .executeTakeFirst()
  return row?.raw
}

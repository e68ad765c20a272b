import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

/**
 * Bytes of a row: the driver makes each row's bytes in one turn of the event loop, and bodies are stored uncompressed, so that
 * PostgreSQL reads no more of one than is asked for.
 */
const ROW_BYTES = 64 * 1024

export interface EventBody {
  raw: Buffer
  /** The source of a mail, whose body is made of it; null when the body came as it is. */
  mail: Buffer | null
}

interface Piece {
  isMail: boolean
  place: number
  bytes: Buffer
}

/** The body of an event that was found; undefined when it is gone. */
export async function readBody(db: Db, id: string): Promise<EventBody | undefined> {
  const { rows } = await sql<Piece>`
    select part.is_mail as "isMail", place, substring(part.bytes from place * ${ROW_BYTES}::int4 + 1 for ${ROW_BYTES}::int4) as bytes
    from event
      cross join lateral (values (false, raw), (true, mail)) as part (is_mail, bytes)
      cross join lateral generate_series(0, (octet_length(part.bytes) - 1) / ${ROW_BYTES}::int4) as place
    where id = ${id}::uuid`.execute(db)
  if (rows.length === 0) return undefined
  const mail = rows.filter(({ isMail }) => isMail)
  return {
    raw: joined(rows.filter(({ isMail }) => !isMail)),
    mail: mail.length === 0 ? null : joined(mail),
  }
}

function joined(pieces: readonly Piece[]): Buffer {
  return Buffer.concat(pieces.toSorted((a, b) => a.place - b.place).map(({ bytes }) => bytes))
}

/** The first bytes of a body, or of the source of a mail; undefined when the event is gone. */
export async function readBodyStart(
  db: Db,
  id: string,
  bytes: number,
): Promise<Buffer | undefined> {
  const { rows } = await sql<{ start: Buffer }>`
    select substring(coalesce(mail, raw) from 1 for ${bytes}::int4) as start
    from event where id = ${id}::uuid`.execute(db)
  return rows[0]?.start
}

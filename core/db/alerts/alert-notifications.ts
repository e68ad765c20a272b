import { sql } from 'kysely'

import type { Db } from '../connection/db.ts'

export interface TellingRecord {
  id: string
  alertId: string
  type: string
  level: number
  atMs: number
  deliveryId: string | null
  mails: number
}

/** In the transaction that decides to tell. */
export async function recordTelling(tx: Db, told: TellingRecord): Promise<void> {
  await tx
    .insertInto('alert_notification')
    .values({
      id: told.id,
      alert_id: told.alertId,
      type: told.type,
      level: told.level,
      at: new Date(told.atMs),
      delivery_id: told.deliveryId,
      mails: told.mails,
    })
    .execute()
}

/** A notification, and what became of its webhook. */
export interface Telling {
  alertId: string
  type: string
  level: number
  at: Date
  mails: number
  deliveryId: string | null
  /** Null without a webhook, and once retention has purged it. */
  status: string | null
  attempts: number | null
  lastError: string | null
}

/** The newest notifications of each alert, newest first. */
export async function tellingsOf(
  db: Db,
  alertIds: readonly string[],
  limit: number,
): Promise<Telling[]> {
  if (alertIds.length === 0) return []
  const { rows } = await sql<Telling>`
    select n.alert_id as "alertId", n.type, n.level, n.at, n.mails, n.delivery_id as "deliveryId", d.status,
      d.attempt_number as attempts, d.last_error as "lastError"
    from unnest(${alertIds}::uuid[]) as of_alert (id) cross join lateral (
      select * from alert_notification where alert_id = of_alert.id order by id desc limit ${limit}) n
    left join delivery d on d.id = n.delivery_id
    order by n.id desc`.execute(db)
  return rows
}

import { sql } from 'kysely'

import { API_WINDOW_SECONDS } from '../../limits.ts'
import type { Db } from '../connection/db.ts'

/** Requests of a scope in its running window, this one included. */
export interface CountedRequests {
  requests: number
  startedAt: Date
}

/** Counts one request in a window that begins with the first, exact over all processes of the API. */
export async function countRequest(db: Db, scope: string, nowMs: number): Promise<CountedRequests> {
  const now = new Date(nowMs)
  const isRunning = sql`l.started_at > ${new Date(nowMs - API_WINDOW_SECONDS * 1_000)}
    and l.started_at < ${new Date(nowMs + API_WINDOW_SECONDS * 1_000)}`
  const { rows } = await sql<CountedRequests>`
    insert into account_limit as l (scope, started_at, requests) values (${scope}, ${now}, 1)
    on conflict (scope) do update set
      requests = case when ${isRunning} then l.requests + 1 else 1 end,
      started_at = case when ${isRunning} then l.started_at else ${now} end
    returning requests, started_at as "startedAt"`.execute(db)
  const [counted] = rows
  if (counted === undefined) throw new Error('A request was not counted')
  return counted
}

/** Forgets windows that have ended. */
export async function deleteOldWindows(db: Db, now: Date): Promise<void> {
  const endedAt = new Date(now.getTime() - API_WINDOW_SECONDS * 1_000)
  await db.deleteFrom('account_limit').where('started_at', '<', endedAt).execute()
}

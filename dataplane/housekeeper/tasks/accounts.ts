import { deleteOldWindows } from '../../../core/db/accounts/account-limits.ts'
import { deleteExpiredLinks } from '../../../core/db/accounts/links.ts'
import { deleteExpiredSessions } from '../../../core/db/accounts/sessions.ts'
import type { Db } from '../../../core/db/connection/db.ts'

/** Drops what accounts leave behind: sessions, links and windows that time has ended. */
export async function pruneAccounts(db: Db, nowMs: number): Promise<void> {
  const now = new Date(nowMs)
  await deleteExpiredSessions(db, now)
  await deleteExpiredLinks(db, now)
  await deleteOldWindows(db, now)
}

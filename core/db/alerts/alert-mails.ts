import { sql } from 'kysely'

import type { NotificationType } from '../../alerts/alert-types.ts'
import { newId } from '../../ids.ts'
import type { Db } from '../connection/db.ts'

/** The roles of people who get mails. */
const MAILED_ROLES = ['owner', 'admin']

/** The words of a mail about one notification. */
export interface AlertWords {
  subject: string
  summary: string
  advice: string | null
  url: string
}

/**
 * Keeps a mail for each owner and admin of an organisation who wants to hear of that and has proved their address, in the
 * transaction that decides to tell. Returns how many there are.
 */
export async function keepAlertMails(
  tx: Db,
  {
    organisationId,
    type,
    words,
  }: { organisationId: string; type: NotificationType; words: AlertWords },
  nowMs: number,
): Promise<number> {
  const people = await tx
    .selectFrom('membership')
    .innerJoin('person', 'person.id', 'membership.person_id')
    .leftJoin('alert_mail_choice', (join) =>
      join
        .onRef('alert_mail_choice.organisation_id', '=', 'membership.organisation_id')
        .onRef('alert_mail_choice.person_id', '=', 'membership.person_id'),
    )
    .select('membership.person_id')
    .where('membership.organisation_id', '=', organisationId)
    .where('membership.role', 'in', MAILED_ROLES)
    .where('person.email_verified_at', 'is not', null)
    .where(sql<boolean>`not coalesce(alert_mail_choice.unwanted, '[]') ? ${type}::text`)
    .execute()
  if (people.length === 0) return 0
  await tx
    .insertInto('alert_mail')
    .values(
      people.map(({ person_id }) => ({
        id: newId(nowMs),
        organisation_id: organisationId,
        person_id,
        words: JSON.stringify(words),
        due_at: new Date(nowMs),
      })),
    )
    .execute()
  return people.length
}

/** A mail that is due, and to whom. */
export interface DueMail {
  id: string
  personId: string
  email: string
  organisationId: string
  organisation: string
  tries: number
  words: AlertWords
}

/**
 * Takes the mails that are due; each is due again after a wait that doubles with every try, so that one whose sender dies
 * is sent by the next, and that two senders never have the same. The second of two at once waits for the first: if it
 * skipped what that one has locked, a person's mails could be parted and become two letters. A mail to somebody who has
 * become a member is dropped.
 */
export async function takeDueMails(
  db: Db,
  nowMs: number,
  { limit, firstWaitSeconds }: { limit: number; firstWaitSeconds: number },
): Promise<DueMail[]> {
  const now = new Date(nowMs)
  const { rows } = await sql<DueMail>`
    with due as materialized (
      select mail.id, membership.role = any(${MAILED_ROLES}::text[]) as is_wanted
      from alert_mail mail join membership using (organisation_id, person_id)
      where mail.due_at <= ${now} order by mail.due_at, mail.id limit ${limit} for update of mail
    ), dropped as (
      delete from alert_mail using due where alert_mail.id = due.id and not due.is_wanted
    ), taken as (
      update alert_mail set tries = tries + 1,
        due_at = ${now}::timestamptz + ${firstWaitSeconds}::int4 * least(2 ^ tries, 120) * interval '1 second'
      from due where alert_mail.id = due.id and due.is_wanted
      returning alert_mail.*
    )
    select taken.id, taken.person_id as "personId", person.email, taken.organisation_id as "organisationId",
      organisation.name as organisation, taken.tries, taken.words
    from taken join person on person.id = taken.person_id join organisation on organisation.id = taken.organisation_id
    order by taken.id`.execute(db)
  return rows
}

export async function dropMails(db: Db, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await db.deleteFrom('alert_mail').where('id', 'in', ids).execute()
}

/** The types of notifications that a person wants no mail of. */
export async function unwantedMails(
  db: Db,
  organisationId: string,
  personId: string,
): Promise<string[]> {
  const row = await db
    .selectFrom('alert_mail_choice')
    .select('unwanted')
    .where('organisation_id', '=', organisationId)
    .where('person_id', '=', personId)
    .executeTakeFirst()
  return row?.unwanted ?? []
}

export async function chooseMails(
  db: Db,
  {
    organisationId,
    personId,
    unwanted,
  }: { organisationId: string; personId: string; unwanted: readonly string[] },
): Promise<void> {
  const columns = { unwanted: JSON.stringify(unwanted) }
  await db
    .insertInto('alert_mail_choice')
    .values({ organisation_id: organisationId, person_id: personId, ...columns })
    .onConflict((conflict) =>
      conflict.columns(['organisation_id', 'person_id']).doUpdateSet(columns),
    )
    .execute()
}

/** Puts mails off that were taken and not tried. */
export async function postponeMails(
  db: Db,
  ids: readonly string[],
  dueAtMs: number,
): Promise<void> {
  await db
    .updateTable('alert_mail')
    .set(({ eb }) => ({ due_at: new Date(dueAtMs), tries: eb('tries', '-', 1) }))
    .where('id', 'in', ids)
    .execute()
}

/** Ends all mails to a person about an organisation, also those that wait. A person who is no member gets none anyway. */
export async function endMails(
  db: Db,
  { organisationId, personId }: { organisationId: string; personId: string },
  types: readonly NotificationType[],
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const membership = await tx
      .selectFrom('membership')
      .select('role')
      .where('organisation_id', '=', organisationId)
      .where('person_id', '=', personId)
      .forKeyShare()
      .executeTakeFirst()
    if (membership === undefined) return
    await chooseMails(tx, { organisationId, personId, unwanted: types })
    await tx
      .deleteFrom('alert_mail')
      .where('organisation_id', '=', organisationId)
      .where('person_id', '=', personId)
      .execute()
  })
}

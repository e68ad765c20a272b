import { newId } from '../../ids.ts'
import { findDestinations, type Destination } from '../configuration/destinations.ts'
import type { Db } from '../connection/db.ts'

/** People's names of projects have no blanks around them: this is nobody's. */
const PROJECT_NAME = ' alerts'

export const ALERT_DESTINATION_NAME = 'Alerts'

/** Where the alerts of an organisation go, and what is needed to send there. */
export interface AlertEndpoint {
  destination: Destination
  retentionClass: number
  plan: string
  overrides: Record<string, unknown>
}

/** Undefined when the organisation has none. */
export async function findAlertEndpoint(
  db: Db,
  organisationId: string,
): Promise<AlertEndpoint | undefined> {
  const row = await db
    .selectFrom('project')
    .innerJoin('destination', 'destination.project_id', 'project.id')
    .innerJoin('organisation', 'organisation.id', 'project.organisation_id')
    .select(['destination.id', 'organisation.retention_class'])
    .select(['organisation.plan', 'organisation.overrides'])
    .where('project.organisation_id', '=', organisationId)
    .where('project.is_internal', '=', true)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const destination = (await findDestinations(db, [row.id])).get(row.id)
  if (destination === undefined) return undefined
  return {
    destination,
    retentionClass: row.retention_class,
    plan: row.plan,
    overrides: row.overrides,
  }
}

/**
 * The project, which nobody sees, that the destination of an organisation's alerts is in, locked to the end of the
 * transaction.
 */
export async function lockInternalProject(
  tx: Db,
  organisationId: string,
  now: Date,
): Promise<string> {
  await tx
    .insertInto('project')
    .values({
      id: newId(now.getTime()),
      organisation_id: organisationId,
      name: PROJECT_NAME,
      is_default: false,
      is_internal: true,
      metadata: '{}',
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const project = await tx
    .selectFrom('project')
    .select('id')
    .where('organisation_id', '=', organisationId)
    .where('is_internal', '=', true)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return project.id
}

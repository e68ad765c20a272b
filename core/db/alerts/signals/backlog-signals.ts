import { sql, type RawBuilder } from 'kysely'

import { firstIdAt } from '../../../ids.ts'
import { ALERT_FINDINGS_MAX } from '../../../limits.ts'
import type { Db } from '../../connection/db.ts'
import { onlineReplicasOf } from '../../connectors/live-sessions.ts'
import type { Alert } from '../alerts.ts'
import {
  alertColumns,
  standingsOf,
  type AlertStanding,
  type StandingRow,
} from './alert-standing.ts'

/** Rows looked at of each partition, and at the head of each lane. */
const PROBED = 50

export interface AgedBacklog {
  id: string
  organisationId: string
  projectId: string
  name: string
  /** A delivery that waits. */
  deliveryId: string
}

/**
 * A destination that is to be sent to: enabled, not waiting for the end of a busy window, its connector there. The others
 * have alerts or reasons of their own.
 */
const IS_REACHABLE = sql`d.is_enabled and not exists (select from destination_busy b where b.destination_id = d.id)
  and (d.connector_id is null or ${onlineReplicasOf('d.connector_id')} > 0)`

/** First attempts at the head of the lane of `lane.id` that wait, not for their pace and not for an operation. */
function oldInLane(lane: RawBuilder<unknown>, before: Date): RawBuilder<unknown> {
  return sql`
    select delivery_id from (
      select * from delivery_waiting w where w.destination_id = ${lane} and w.next_at is null
      order by w.delivery_id limit ${sql.lit(PROBED)}
    ) as head
    where head.delivery_id < ${firstIdAt(before.getTime())}::uuid and head.status = 'pending'
      and head.attempt_trigger = 'initial' and head.operation_id is null
    limit 1`
}

/**
 * Destinations with a delivery in these partitions that has been due since before `before`. By index probes: a few for each
 * partition, for rows that no worker takes, and two for each lane with parked rows.
 */
export async function agedBacklogs(
  db: Db,
  before: Date,
  partitions: readonly number[],
): Promise<AgedBacklog[]> {
  const { rows } = await sql<AgedBacklog>`
    with recursive lane as (
      select p.number, first.destination_id from unnest(${partitions}::int2[]) as p (number) cross join lateral (
        select w.destination_id from delivery_waiting w
        where w.partition = p.number and w.next_at is null order by w.destination_id limit 1) as first
      union all
      select lane.number, next.destination_id from lane cross join lateral (
        select w.destination_id from delivery_waiting w
        where w.partition = lane.number and w.next_at is null and w.destination_id > lane.destination_id
        order by w.destination_id limit 1) as next
    ), late as (
      select w.destination_id, w.delivery_id
      from unnest(${partitions}::int2[]) as p (number) cross join lateral (
        select destination_id, delivery_id from delivery_waiting
        where partition = p.number and next_at < ${before} and status = 'pending'
        order by next_at limit ${PROBED}) as w
      union all
      select lane.destination_id, old.delivery_id
      from lane cross join lateral (${oldInLane(sql`lane.destination_id`, before)}) as old
    )
    select distinct on (d.id) d.id, d.organisation_id as "organisationId", d.project_id as "projectId", d.name,
      late.delivery_id as "deliveryId"
    from late join destination d on d.id = late.destination_id
      join project p on p.id = d.project_id and not p.is_internal
    where ${IS_REACHABLE} and not exists (
      select from alert a where a.type = 'backlog.age' and a.subject_id = d.id and a.closed_at is null)
    order by d.id, late.delivery_id limit ${ALERT_FINDINGS_MAX}`.execute(db)
  return rows
}

/** Well are destinations without a delivery that has been due since before `before`. */
export async function standingOfBacklogs(
  db: Db,
  alerts: readonly Alert[],
  before: Date,
): Promise<Map<string, AlertStanding>> {
  const { ids, subjectIds } = alertColumns(alerts)
  const { rows } = await sql<StandingRow>`
    select a.id, case when d.id is null or not d.is_enabled then 'ended'
      when not exists (${oldInLane(sql`d.id`, before)}) and not exists (
        select from delivery_waiting w
        where w.project_id = d.project_id and w.status = 'pending' and w.next_at < ${before}
          and w.destination_id = d.id) then 'well' end as standing
    from unnest(${ids}::uuid[], ${subjectIds}::uuid[]) as a (id, subject_id)
    left join destination d on d.id = a.subject_id`.execute(db)
  return standingsOf(rows)
}

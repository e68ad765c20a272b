import type pg from 'pg'

import type { Measured } from './tenants.ts'

/** As much as years of an organisation leave behind; alerts and operations are kept for months at most. */
const AUDITED = 1_000_000
const ALERTS = 50_000
const OPEN_ALERTS = 200
const OPERATIONS = 10_000

const OPERATIONS_SQL = `
  insert into operation (id, organisation_id, project_id, kind, status, selection, matched, is_truncated, processed, due_at,
    finished_at)
  select uuidv7(n * interval '-5 minutes'), $1, $2, (array['retry', 'replay'])[1 + n % 2], 'completed', '{"toMs": 1}', n,
    false, n, now(), now()
  from generate_series(1, $3::int) as n`

const AUDIT_SQL = `
  insert into audit (id, organisation_id, project_id, actor, action, subject_kind, subject_id, changes, at)
  select uuidv7(at - clock_timestamp()), $1, $2, 'system', 'destination.update', 'destination', $2, '{"name": {"to": "shop"}}', at
  from (select now() - n * interval '1 minute' as at from generate_series(1, $3::int) as n) as moments`

const ALERTS_SQL = `
  insert into alert (id, organisation_id, project_id, type, subject_id, name, level, summary, evidence, opened_at, closed_at)
  select uuidv7(at - clock_timestamp()), $1, $2, 'destination.failing', uuidv7(), 'shop', 50, 'Failing', '{}', at,
    case when n > $4 then at + interval '1 minute' end
  from (select n, now() - n * interval '1 minute' as at from generate_series(1, $3::int) as n) as moments`

const TOLD_SQL = `
  insert into alert_notification (id, alert_id, type, level, at)
  select uuidv7(), id, type, level, opened_at from alert where organisation_id = $1`

/** Fills the tables of what people look at besides events and deliveries. */
export async function makeBesides(
  client: pg.Client,
  { organisationId, projectId }: Measured,
): Promise<void> {
  const owner = [organisationId, projectId]
  await client.query(OPERATIONS_SQL, [...owner, OPERATIONS])
  await client.query(AUDIT_SQL, [...owner, AUDITED])
  await client.query(ALERTS_SQL, [...owner, ALERTS, OPEN_ALERTS])
  await client.query(TOLD_SQL, [organisationId])
  await client.query('vacuum analyze operation, audit, alert, alert_notification')
}

import { sql, type RawBuilder } from 'kysely'

import { wholeOf } from './rollups.ts'

/** The minutes of a project with a single source are those of the whole project. */
const GRANULARITIES = sql`('minute', ${sql.lit(wholeOf('minute'))})`

/**
 * A query of the events of each source by the minute, rolled up or not, that meet a condition. A minute may come in parts;
 * those of whole projects belong to no source that is there.
 */
export function eventMinutes(condition: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select source_id, status, rejection_reason, events
    from event_rollup where granularity in ${GRANULARITIES} and ${condition}
    union all
    select source_id, status, rejection_reason, events from event_minute where ${condition}`
}

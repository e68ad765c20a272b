import type { Registry } from 'prom-client'

import { counterOf, gaugeOf } from '../../../core/metrics/instruments.ts'
import type { Drain } from './drain.ts'
import type { Outage } from './outage.ts'
import type { Spool } from './spool.ts'

interface Parts {
  spool: Spool
  outage: Outage
  drain: Drain
}

/** Without a spool, for which `parts` are undefined, nothing was ever spooled. */
export function measureSpool(registry: Registry, parts: Parts | undefined): void {
  counterOf(
    registry,
    {
      name: 'postern_ingest_spooled_events_total',
      help: 'Events accepted while PostgreSQL was away',
    },
    () => parts?.spool.kept ?? 0,
  )
  counterOf(
    registry,
    {
      name: 'postern_ingest_spool_stored_events_total',
      help: 'Spooled events that are stored by now',
    },
    () => parts?.drain.stored ?? 0,
  )
  counterOf(
    registry,
    {
      name: 'postern_ingest_spool_refused_events_total',
      help: 'Spooled events that PostgreSQL refuses for their data: put aside in the spool',
    },
    () => parts?.drain.refused ?? 0,
  )
  gaugeOf(
    registry,
    { name: 'postern_ingest_spool_events', help: 'Spooled events that are still to be stored' },
    () => parts?.spool.length ?? 0,
  )
  gaugeOf(
    registry,
    { name: 'postern_ingest_database_away', help: '1 while events are spooled' },
    () => (parts?.outage.isAway === true ? 1 : 0),
  )
}

import { Counter, Gauge, type Registry } from 'prom-client'

import type { Drain } from './drain.ts'
import type { Outage } from './outage.ts'
import type { Spool } from './spool.ts'

export function measureSpool(
  registry: Registry,
  { spool, outage, drain }: { spool: Spool; outage: Outage; drain: Drain },
): void {
  count(registry, 'spooled', 'Events accepted while PostgreSQL was away', () => spool.kept)
  count(registry, 'spool_stored', 'Spooled events that are stored by now', () => drain.stored)
  count(
    registry,
    'spool_refused',
    'Spooled events that PostgreSQL refuses for their data: put aside in the spool',
    () => drain.refused,
  )
  gauge(registry, 'spool_length', 'Spooled events that are still to be stored', () => spool.length)
  gauge(registry, 'database_away', '1 while events are spooled', () => (outage.isAway ? 1 : 0))
}

function count(registry: Registry, name: string, help: string, read: () => number): void {
  const counter = new Counter({
    name: `postern_ingest_${name}_total`,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
  counter.inc(0)
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const one = new Gauge({
    name: `postern_ingest_${name}`,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
  one.set(0)
}

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'

import { Registry } from 'prom-client'

import type { Settings } from '../../core/config.ts'
import { openDb, openPool } from '../../core/db/connection/db.ts'
import { openNats } from '../../core/nats.ts'
import type { LinkTiming } from '../../core/tunnel/link.ts'
import { startGateway } from '../../dataplane/gateway/gateway.ts'
import { openTraces } from '../kit/relay.ts'
import type { World } from '../kit/world.ts'

const POOL_MAX = 4

/** A gateway with connections of its own, as a process has. */
export interface GatewayProcess extends AsyncDisposable {
  name: string
  url: string
  /** The present value of one of its metrics. */
  metric(name: string): Promise<number>
  drain(): Promise<void>
}

export async function openGateway(
  { databaseUrl, natsUrl, clock, deps: { log } }: World,
  name: string,
  timing?: LinkTiming,
  traces?: Settings,
): Promise<GatewayProcess> {
  await using stack = new AsyncDisposableStack()
  const db = stack.use(
    openDb(openPool({ url: databaseUrl, max: POOL_MAX, log, planning: 'lookups' })),
  )
  const nats = await openNats(natsUrl, name, log)
  stack.defer(async () => await nats.close())
  const registry = new Registry()
  const tracing = await openTraces({ traces, clock, log, registry }, 'gateway')
  stack.use(tracing)
  // Tests that come from elsewhere say so.
  const remoteIpOf = ({ headers }: IncomingMessage) =>
    String(headers['x-forwarded-for'] ?? '127.0.0.1')
  const gateway = stack.use(
    await startGateway({
      db,
      nats,
      clock,
      log,
      registry,
      name,
      remoteIpOf,
      ...(timing && { timing }),
      tracing,
    }),
  )
  gateway.server.listen(0, '127.0.0.1')
  await once(gateway.server, 'listening')
  const address = gateway.server.address()
  if (address === null || typeof address === 'string') throw new Error('No port')
  const moved = stack.move()
  return {
    name,
    url: `ws://127.0.0.1:${address.port}`,
    async metric(metric) {
      const read = await registry.getSingleMetric(metric)?.get()
      return (read?.values ?? []).reduce((sum, { value }) => sum + value, 0)
    },
    drain: async () => await gateway.drain(),
    [Symbol.asyncDispose]: async () => await moved.disposeAsync(),
  }
}

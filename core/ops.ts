import { fastify } from 'fastify'
import type { Registry } from 'prom-client'

import { listenOrEnd, NotReady } from './start-up.ts'
import { within } from './within.ts'

/** Probes come every few seconds; one that hangs on a dead dependency must answer before the next. */
const READY_TIMEOUT_MS = 2_000

/** Names the process that answers /readyz. */
export const PROCESS_HEADER = 'postern-process'

export interface Ops {
  host: string
  /** 0 takes a free port. */
  port: number
  /** Rejects while a dependency is not usable. */
  ready: () => Promise<void>
  registry: Registry
}

/** Serves /livez (the loop turns), /readyz and /metrics beside a role's own port. Disposing of it closes the port. */
export async function openOps({
  host,
  port,
  ready,
  registry,
}: Ops): Promise<AsyncDisposable & { port: number }> {
  const app = fastify({ logger: false, forceCloseConnections: true })
  app.get('/livez', () => ({ ok: true }))
  app.get('/readyz', async (_request, reply) => {
    // Whoever started this process sees that no other one answers at its port.
    void reply.header(PROCESS_HEADER, process.pid)
    try {
      await within(READY_TIMEOUT_MS, ready(), failTimedOut)
      return { ok: true }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const parts = error instanceof NotReady ? error.parts : undefined
      return await reply.code(503).send({ ok: false, reason, parts })
    }
  })
  app.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  await listenOrEnd('OPS_PORT', () => app.listen({ host, port }))
  const address = app.server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: async () => await app.close(),
  }
}

function failTimedOut(): never {
  throw new Error('Timed out')
}

import { fastify } from 'fastify'
import type { Registry } from 'prom-client'

/** Probes come every few seconds; one that hangs on a dead dependency must answer before the next. */
const READY_TIMEOUT_MS = 2_000

export interface Ops {
  /** 0 takes a free port. */
  port: number
  /** Rejects while a dependency is not usable. */
  ready: () => Promise<void>
  registry: Registry
}

/** Serves /livez (the loop turns), /readyz and /metrics beside a role's own port. Disposing of it closes the port. */
export async function openOps({
  port,
  ready,
  registry,
}: Ops): Promise<AsyncDisposable & { port: number }> {
  const app = fastify({ logger: false, forceCloseConnections: true })
  app.get('/livez', () => ({ ok: true }))
  app.get('/readyz', async (_request, reply) => {
    const timeout = Promise.withResolvers<never>()
    const timer = setTimeout(() => timeout.reject(new Error('Timed out')), READY_TIMEOUT_MS)
    try {
      await Promise.race([ready(), timeout.promise])
      return { ok: true }
    } catch (error) {
      return await reply.code(503).send({ ok: false, reason: String(error) })
    } finally {
      clearTimeout(timer)
    }
  })
  app.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  await app.listen({ host: '0.0.0.0', port })
  const address = app.server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: async () => await app.close(),
  }
}

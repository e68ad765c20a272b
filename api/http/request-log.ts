import type { FastifyInstance } from 'fastify'
import { Histogram } from 'prom-client'

import type { EdgeFault } from '../../core/http/fault.ts'
import { roundMs } from '../../core/log.ts'
import type { Deps } from '../deps.ts'
import { codeOf } from './failure.ts'

/** Measures and logs each request under the id that its answer shows. */
export function logRequests(app: FastifyInstance, { registry, log }: Deps): void {
  const seconds = new Histogram({
    name: 'postern_api_request_duration_seconds',
    help: 'Time to answer a request of the management API',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none'
    const labels = { method: request.method, route, status: reply.statusCode }
    // How long a client listened is no measure of the API.
    const isStream = String(reply.getHeader('content-type')).startsWith('text/event-stream')
    if (!isStream) seconds.observe(labels, reply.elapsedTime / 1_000)
    log.info(
      {
        requestId: request.id,
        ...labels,
        code: codeOf(request),
        remoteIp: request.clientAddress,
        durationMs: roundMs(reply.elapsedTime),
      },
      'Answered',
    )
  })
}

/** Bytes that are not HTTP never become a request; their answer has an id all the same. */
export function logFault({ log }: Deps, requestId: string, { status, code }: EdgeFault): void {
  log.info({ requestId, status, code }, 'Refused bytes that are not HTTP')
}

import type { FastifyRequest } from 'fastify'

import { refuse } from '../../core/errors.ts'

/** Where browsers find the dashboard: as `API_URL` says, else as the request named it. */
export function publicOrigin(apiUrl: string | undefined, request: FastifyRequest): string {
  return apiUrl ?? `${request.protocol}://${request.host}`
}

/** Whether a request that names its `Origin` comes from a page of the dashboard. */
export function isOwnOrigin(apiUrl: string | undefined, request: FastifyRequest): boolean {
  const { origin } = request.headers
  return origin === `${request.protocol}://${request.host}` || origin === apiUrl
}

/**
 * Refuses a write whose `Origin` is not the dashboard: a browser names there the page that a request comes from, and a
 * page of another site can have it sent with the cookie of a person who looks at it.
 */
export function refuseForeign(apiUrl: string | undefined, request: FastifyRequest): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  const { origin } = request.headers
  if (origin !== undefined && isOwnOrigin(apiUrl, request)) return
  refuse(
    'FORBIDDEN',
    origin === undefined
      ? 'Cannot take a write without Origin: browsers send it'
      : `Cannot take a write from "${origin}": the dashboard is at "${publicOrigin(apiUrl, request)}" (API_URL)`,
  )
}

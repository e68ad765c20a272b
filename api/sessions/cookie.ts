import type { FastifyRequest } from 'fastify'

import { SESSION_DAYS_MAX } from '../../core/limits.ts'

/** A name that only the very host can set, and only over TLS. */
const OVER_TLS = '__Host-postern'
const PLAIN = 'postern'

/** Longer than any token of ours. */
const TOKEN_LENGTH_MAX = 100

/** Whether browsers reach the dashboard over TLS: as `API_URL` says, else as the request came. */
export function isOverTls(apiUrl: string | undefined, request: FastifyRequest): boolean {
  return apiUrl === undefined ? request.protocol === 'https' : apiUrl.startsWith('https:')
}

/** The token of the session that a request comes with. */
export function sessionToken(
  apiUrl: string | undefined,
  request: FastifyRequest,
): string | undefined {
  const wanted = nameOf(isOverTls(apiUrl, request))
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2)
    if (name === wanted && value !== undefined && value.length <= TOKEN_LENGTH_MAX) return value
  }
  return undefined
}

/** Scripts cannot read it, and requests of other sites come without it, save for following a link to us. */
export function sessionCookie(token: string, isTls: boolean): string {
  return `${nameOf(isTls)}=${token}; Max-Age=${SESSION_DAYS_MAX * 86_400}; ${attributes(isTls)}`
}

/** Has the browser forget the session. */
export function noCookie(isTls: boolean): string {
  return `${nameOf(isTls)}=; Max-Age=0; ${attributes(isTls)}`
}

function nameOf(isTls: boolean): string {
  return isTls ? OVER_TLS : PLAIN
}

function attributes(isTls: boolean): string {
  return `Path=/; HttpOnly; SameSite=Lax${isTls ? '; Secure' : ''}`
}

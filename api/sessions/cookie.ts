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
  const token = cookieOf('', apiUrl, request)
  return token === undefined || token.length > TOKEN_LENGTH_MAX ? undefined : token
}

/** Scripts cannot read it, and requests of other sites come without it unless somebody follows a link to us. */
export function sessionCookie(token: string, isTls: boolean): string {
  return setCookie('', token, { isTls, seconds: SESSION_DAYS_MAX * 86_400 })
}

/** Has the browser forget the session. */
export function noCookie(isTls: boolean): string {
  return setCookie('', '', { isTls, seconds: 0 })
}

/** A cookie of ours that a request comes with; that of the session has no name behind ours. */
export function cookieOf(
  name: string,
  apiUrl: string | undefined,
  request: FastifyRequest,
): string | undefined {
  const wanted = nameOf(name, isOverTls(apiUrl, request))
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [found, value] = pair.trim().split('=', 2)
    if (found === wanted && value !== undefined) return value
  }
  return undefined
}

export function setCookie(
  name: string,
  value: string,
  { isTls, seconds }: { isTls: boolean; seconds: number },
): string {
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isTls ? '; Secure' : ''}`
  return `${nameOf(name, isTls)}=${value}; Max-Age=${seconds}; ${attributes}`
}

function nameOf(name: string, isTls: boolean): string {
  return `${isTls ? OVER_TLS : PLAIN}${name}`
}

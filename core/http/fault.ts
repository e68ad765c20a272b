import type { IncomingMessage } from 'node:http'

import type { Code } from '../errors.ts'
import { HEADER_BYTES_MAX, HEADERS_TIMEOUT_MS } from '../limits.ts'

/** Why a request is refused before any route sees it. */
export interface EdgeFault {
  status: 400 | 404 | 408 | 413 | 417 | 429 | 431
  /** Only where the closed table of codes has one. */
  code?: Code
  message: string
}

function notHttp(reason: string): EdgeFault {
  return { status: 400, code: 'BAD_REQUEST', message: `The request is not valid HTTP: ${reason}` }
}

export const TOO_MANY_CONNECTIONS: EdgeFault = {
  status: 429,
  message: 'There are too many connections from this address',
}

export const EXPECTATION: EdgeFault = {
  status: 417,
  message: 'The only expectation that is met is 100-continue',
}

/** Nothing is taken without exactly one Host, except of HTTP/1.0, which knows none. (RFC 9112, 3.2) */
export function hostFault({ httpVersion, rawHeaders }: IncomingMessage): EdgeFault | undefined {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined
  return notHttp(hosts === 0 ? 'it has no Host header' : 'it has more than one Host header')
}

/** The fault that Node found, in words for the sender. Undefined if the sender is gone. */
export function faultOf(
  error: { code?: string; reason?: string },
  hasRequest: boolean,
  requestMs: number,
): EdgeFault | undefined {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return hasRequest
        ? timedOut(`The body did not arrive within ${requestMs / 1_000} seconds`)
        : timedOut(
            `The request line and headers did not arrive within ${HEADERS_TIMEOUT_MS / 1_000} seconds`,
          )
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: 431,
        message: `The request line and headers are larger than ${HEADER_BYTES_MAX / 1_024} KiB`,
      }
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return {
        status: 413,
        code: 'PAYLOAD_TOO_LARGE',
        message: 'The extensions of a chunk are larger than 16 KiB',
      }
    case 'HPE_INVALID_EOF_STATE':
      return notHttp('it ended before it was complete')
    case undefined:
      return undefined
    default:
      return error.code.startsWith('HPE_') ? notHttp(error.reason ?? error.code) : undefined
  }
}

function timedOut(message: string): EdgeFault {
  return { status: 408, message }
}

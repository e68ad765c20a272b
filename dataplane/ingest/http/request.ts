import type { IncomingMessage } from 'node:http'

import { joinHeaders } from '../../../core/request/headers.ts'
import type { IngestRequest } from '../accept/event.ts'

/** The parts of a request, read from the raw target: a path is never decoded, so no bad escape can matter. */
export function readRequest(
  raw: IncomingMessage,
  { target, remoteIp }: { target: string; remoteIp: string },
): IngestRequest {
  const queryAt = target.indexOf('?')
  const fullPath = queryAt === -1 ? target : target.slice(0, queryAt)
  const restAt = fullPath.indexOf('/', 1)
  const rawHeaders = pairs(raw.rawHeaders)
  return {
    method: raw.method ?? 'GET',
    maskId: fullPath.slice(1, restAt === -1 ? undefined : restAt),
    path: restAt === -1 ? '/' : fullPath.slice(restAt),
    fullPath,
    query: queryAt === -1 ? '' : target.slice(queryAt + 1),
    headers: joinHeaders(rawHeaders),
    rawHeaders,
    remoteIp,
  }
}

function pairs(flat: readonly string[]): [string, string][] {
  const headers: [string, string][] = []
  for (let at = 0; at < flat.length; at += 2) headers.push([flat[at] ?? '', flat[at + 1] ?? ''])
  return headers
}

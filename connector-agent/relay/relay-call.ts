import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

import type { Reach } from './proxy.ts'

/** An answer of the relay, or of whatever stands in its place. */
export interface RelayReply {
  status: number
  text: string
  date: string | undefined
  location: string | undefined
  retryAfter: string | undefined
}

interface RelayCall {
  method: string
  headers: Readonly<Record<string, string>>
  body: string | null
}

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 2 * 1024 * 1024

/** Calls the management API. Throws when there is no answer. */
export async function callRelay(
  url: URL,
  reach: Reach,
  { method, headers: sent, body }: RelayCall,
): Promise<RelayReply> {
  const { promise, resolve, reject } = Promise.withResolvers<RelayReply>()
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method,
    agent: reach(url),
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { ...sent, ...(body !== null && { 'content-length': Buffer.byteLength(body) }) },
  })
  request.on('error', reject)
  request.on('response', (response) => {
    const { statusCode: status = 0, headers } = response
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= ANSWER_BYTES_MAX) chunks.push(chunk)
      else response.destroy(new Error('The answer has no end'))
    })
    response.on('error', reject)
    response.on('end', () =>
      resolve({
        status,
        text: Buffer.concat(chunks).toString('utf8'),
        date: headers.date,
        location: headers.location,
        retryAfter: headers['retry-after'],
      }),
    )
  })
  request.end(body)
  return await promise
}

import { readFileSync } from 'node:fs'

import { z } from 'zod'

import { readCertificate } from './request/asymmetric.ts'
import type { KeyAnswer, KeyRequest, SignedRequest } from './request/signed-request.ts'
import { readJwk } from './schemes/jwt.ts'

const Request = z.object({
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})

export type SentRequest = z.infer<typeof Request>

/** Two events of one provider, as alike as two of its events can be, each with how it is sent again. */
const Vector = z.object({
  preset: z.string(),
  /** Where the form of its requests is described. */
  source: z.string(),
  verifier: z.record(z.string(), z.unknown()),
  /** Certificates and JWKs by the URL that they are got from; Plaid's are got by its API. */
  keys: z.record(z.string(), z.union([z.string(), z.record(z.string(), z.unknown())])).default({}),
  now: z.int(),
  events: z
    .array(
      z.object({
        /** The provider's name for the type. */
        eventType: z.string().nullable(),
        request: Request,
        retry: Request.optional(),
      }),
    )
    .length(2),
})
export type Vector = z.infer<typeof Vector>

const FILE = new URL('../../test/vectors/events.json', import.meta.url)
export const VECTORS = z.array(Vector).parse(JSON.parse(readFileSync(FILE, 'utf8')))

export function signedOf({ method, url, headers, body }: SentRequest): SignedRequest {
  const { pathname, search } = new URL(url)
  return {
    method,
    url,
    path: pathname,
    query: search.slice(1),
    headers,
    body: Buffer.from(body),
    remoteIp: '203.0.113.7',
  }
}

export function keysOf({ keys }: Vector, wanted: KeyRequest): KeyAnswer {
  const held = keys[wanted.kind === 'plaid' ? 'plaid' : wanted.url]
  if (held === undefined) return { kind: 'failed', why: 'The vector has no such key' }
  const key = typeof held === 'string' ? readCertificate(held) : readJwk(held)
  return key === undefined ? { kind: 'failed', why: 'No key' } : { kind: 'found', keys: [key] }
}

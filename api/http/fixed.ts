import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'

import type { FastifyReply, FastifyRequest } from 'fastify'

/** How long a client may use its copy before it asks again whether it is still the same. */
const MAX_AGE_SECONDS = 60

/** Sends a text that stays the same while the process runs: anybody may ask, so that it is compressed once for all. */
export function fixed(
  text: string,
  headers: Readonly<Record<string, string>>,
): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  const plain = Buffer.from(text)
  const gzipped = gzipSync(plain)
  // Weak, because it names the text whether compressed or not.
  const etag = `W/"${hash('sha256', plain, 'base64url')}"`
  const common = {
    vary: 'accept-encoding',
    ...headers,
    etag,
    'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
  }
  return (request, reply) => {
    void reply.headers(common)
    const known = request.headers['if-none-match']
    if (known !== undefined && isKnown(known, etag)) return reply.code(304).send()
    if (!codingsTaken(request.headers['accept-encoding'])('gzip')) return reply.send(plain)
    return reply.header('content-encoding', 'gzip').send(gzipped)
  }
}

/** Whether the client has what a weak tag names. */
export function isKnown(header: string, etag: string): boolean {
  const tags = header.split(',').map((tag) => tag.trim())
  // Proxies that change the encoding make a tag strong or weak as they like.
  return tags.some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag.slice('W/'.length))
}

/** Which codings a client takes: `gzip;q=0` refuses it, `*` stands for every coding that is not named. */
export function codingsTaken(header: string | string[] | undefined): (coding: string) => boolean {
  const codings = new Map(
    [header ?? []]
      .flat()
      .join(',')
      .split(',')
      .map((coding) => {
        const [name = '', ...parameters] = coding.split(';').map((part) => part.trim())
        const weight = parameters.find((part) => /^q=/i.test(part))?.slice('q='.length) ?? '1'
        return [name.toLowerCase(), Number(weight) > 0]
      }),
  )
  return (coding) => codings.get(coding) ?? codings.get('*') ?? false
}

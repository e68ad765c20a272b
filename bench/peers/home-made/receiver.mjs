import { createHmac, timingSafeEqual } from 'node:crypto'

import fastify from 'fastify'

/** Verifies a webhook as GitHub signs it, stores it as a job, answers. */
const { QUEUE = '', STORE_URL = '', PORT = '', SECRET = '' } = process.env
const { openQueue } = await import(`./on-${QUEUE}.mjs`)
const queue = await openQueue(STORE_URL)

const app = fastify({ bodyLimit: 5 * 1024 * 1024 })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.post('/hooks/github', async ({ headers, body }, reply) => {
  const mac = createHmac('sha256', SECRET).update(body).digest('hex')
  const wanted = Buffer.from(`sha256=${mac}`)
  const given = Buffer.from(String(headers['x-hub-signature-256']))
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    return await reply.code(401).send({ ok: false })
  }
  await queue.add(String(headers['x-github-delivery']), {
    body: body.toString('utf8'),
    contentType: String(headers['content-type']),
    event: String(headers['x-github-event']),
  })
  return { ok: true }
})
await app.listen({ host: '127.0.0.1', port: Number(PORT) })

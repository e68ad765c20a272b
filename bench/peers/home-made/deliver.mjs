import { createHmac } from 'node:crypto'

import { Agent } from 'undici'

const { DESTINATION = '', SECRET = '', CONCURRENCY = '' } = process.env
const agent = new Agent({ connections: Number(CONCURRENCY), headersTimeout: 30_000 })
const { origin, pathname } = new URL(DESTINATION)

/** Posts a job to the destination, signed. Throws for another try unless the answer is a 2xx. */
export async function deliver(id, { body, contentType, event }) {
  const { statusCode, body: answer } = await agent.request({
    origin,
    path: pathname,
    method: 'POST',
    headers: {
      'content-type': contentType,
      'x-github-event': event,
      'webhook-id': id,
      'x-signature': createHmac('sha256', SECRET).update(body).digest('hex'),
    },
    body,
  })
  await answer.dump()
  if (statusCode < 200 || statusCode > 299)
    throw new Error(`The destination answered ${statusCode}`)
}

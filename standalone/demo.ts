import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

import { z } from 'zod'

import { readSettings } from '../core/config.ts'

const SECRET = 'demo-secret'
const BODY = '{"action":"opened","issue":{"number":1}}'

const settings = readSettings(process.env)
const { apiUrl, apiKey } = z
  .object({ apiUrl: z.string(), apiKey: z.string() })
  .parse(JSON.parse(readFileSync(join(settings.DATA_DIR, 'standalone.json'), 'utf8')))

const seen = new Set<string>()
const receiver = createServer((request, response) => {
  const id = String(request.headers['webhook-id'])
  // The first attempt of each delivery fails, so that the retry can be watched.
  response.statusCode = seen.has(id) ? 200 : 500
  seen.add(id)
  request.resume().on('end', () => {
    console.log(
      `Received ${id}, attempt ${String(request.headers['postern-attempt'])}, answered ${response.statusCode}`,
    )
    response.end()
  })
}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
const address = receiver.address()
if (typeof address !== 'object' || address === null) throw new Error('Cannot listen')

const name = `demo ${new Date().toISOString()}`
const source = await create('sources', {
  name,
  verifier: { preset: 'github', secret: SECRET },
  eventTypeField: 'header.x-github-event',
})
const destination = await create('destinations', {
  name,
  url: `http://127.0.0.1:${address.port}/`,
  retryPolicy: { strategy: 'schedule', scheduleSeconds: [2] },
})
await create('connections', { name, sourceId: source.id, destinationId: destination.id })

const signature = createHmac('sha256', SECRET).update(BODY).digest('hex')
const authorization = `-H 'authorization: Bearer ${apiKey}'`
console.log(`A source, a destination that fails each first attempt, and a connection are made. Now, in another terminal:

Post a signed GitHub webhook:
  curl -i ${source.ingestUrl ?? ''} -H 'content-type: application/json' -H 'x-github-event: issues' -H 'x-hub-signature-256: sha256=${signature}' -d '${BODY}'

See what became of it, with the event id from the answer:
  curl ${authorization} ${apiUrl}/v1/events/<eventId>/timeline

Send it once more:
  curl -X POST ${authorization} ${apiUrl}/v1/events/<eventId>/replay
`)

async function create(
  resource: string,
  body: object,
): Promise<{ id: string; ingestUrl?: string | undefined }> {
  const response = await fetch(`${apiUrl}/v1/${resource}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (response.status !== 201) throw new Error(`Cannot create in ${resource}: ${text}`)
  return z.object({ id: z.string(), ingestUrl: z.string().optional() }).parse(JSON.parse(text))
}

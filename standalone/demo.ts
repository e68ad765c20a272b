import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'

import { readAdminSettings } from '../core/config.ts'
import { plainText } from '../core/this-machine/plain-text.ts'
import { awaitRunningRelay } from '../core/this-machine/running-relay.ts'
import { openDemoObjects } from './demo-objects.ts'
import { holderOf } from './processes/lock.ts'

const SECRET = 'demo-secret'
const BODY = '{"action":"opened","issue":{"number":1}}'

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort())
process.stdout.on('error', () => stop.abort())

const seen = new Set<string>()
const receiver = createServer((request, response) => {
  const id = String(request.headers['webhook-id'])
  // The first attempt of each delivery fails, so that the retry can be watched.
  response.statusCode = seen.has(id) ? 200 : 500
  seen.add(id)
  request.resume().on('end', () => {
    const attempt = String(request.headers['postern-attempt'])
    const words = `Received ${id}, attempt ${attempt}, answered ${response.statusCode}`
    console.log(plainText(words))
    response.end()
  })
})

try {
  const { DATA_DIR } = readAdminSettings(process.env)
  const { apiUrl, apiKey } = await awaitRunningRelay({
    dataDir: DATA_DIR,
    holder: () => holderOf(DATA_DIR),
    print: console.log,
    stop: stop.signal,
    elsewhere: 'DATA_DIR names another directory.',
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const address = receiver.address()
  if (typeof address !== 'object' || address === null) throw new Error('Cannot listen')
  await using objects = openDemoObjects({ apiUrl, apiKey, print: console.log })
  await objects.removeLeftovers()
  const source = await objects.create('sources', {
    verifier: { preset: 'github', secret: SECRET },
    eventTypeField: 'header.x-github-event',
  })
  const destination = await objects.create('destinations', {
    url: `http://127.0.0.1:${address.port}/`,
    retryPolicy: { strategy: 'schedule', scheduleSeconds: [2] },
  })
  await objects.create('connections', { sourceId: source.id, destinationId: destination.id })
  console.log(commands(source.ingestUrl ?? '', apiUrl, apiKey))
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
} catch (error) {
  if (!stop.signal.aborted) {
    const words = error instanceof Error ? error.message : String(error)
    console.error(plainText(words, { keepsLines: true }))
    process.exitCode = 1
  }
} finally {
  receiver.closeAllConnections()
  receiver.close()
}

function commands(ingestUrl: string, apiUrl: string, apiKey: string): string {
  const signature = createHmac('sha256', SECRET).update(BODY).digest('hex')
  const headers = [
    'content-type: application/json',
    'x-github-event: issues',
    `x-hub-signature-256: sha256=${signature}`,
  ].map((header) => `-H '${header}'`)
  const authorization = `-H 'authorization: Bearer ${apiKey}'`
  return `
A source, a destination that fails each first attempt, and a connection are made. Paste into another terminal:

Post a signed GitHub webhook, and keep the id of its event:
  EVENT=$(curl -s ${ingestUrl} ${headers.join(' ')} -d '${BODY}' | sed 's/.*"eventId":"\\([^"]*\\)".*/\\1/'); echo "$EVENT"

See what became of it:
  curl -s ${authorization} ${apiUrl}/v1/events/$EVENT/timeline; echo

Send it once more:
  curl -s -X POST ${authorization} ${apiUrl}/v1/events/$EVENT/replay; echo

Ctrl-C ends the demo and removes what it made.
`
}

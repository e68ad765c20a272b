import { once } from 'node:events'
import { join } from 'node:path'

import { readSettings } from '../core/config.ts'
import { startStandalone } from './supervisor.ts'

const stop = new AbortController()
// Kept, not once: npm and the terminal both deliver a Ctrl-C, and a second one must not interrupt the first.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort())
// Whoever read our output may go away (`npm start | head`); that is no reason to end the relay.
process.stdout.on('error', () => {})

try {
  const settings = readSettings(process.env)
  await using stack = new AsyncDisposableStack()
  const options = { settings, env: process.env, say: console.log, stop: stop.signal }
  const standalone = await startStandalone(stack, options)
  console.log(`
Postern runs
  Management API  ${standalone.apiUrl}
  Ingest          ${standalone.ingestUrl}
  Project         ${standalone.projectId}
  API key         ${standalone.apiKey}

Try: curl -H 'authorization: Bearer ${standalone.apiKey}' ${standalone.apiUrl}/v1/sources
Data, logs and standalone.json are in ${join(settings.DATA_DIR)}
Ctrl-C stops everything it started; the next start goes on where this one ended`)
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
  console.log('Stopping')
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'

import { readSettings, type Settings } from '../core/config.ts'
import { dataDirFaults } from './data-dir.ts'
import { dataOf } from './servers/postgres-data.ts'
import { startStandalone, type Standalone } from './supervisor.ts'

const stop = new AbortController()
// Kept, not once: npm and the terminal both deliver a Ctrl-C, and a second one must not interrupt the first.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort())
// Whoever read our output may go away (`npm start | head`); that is no reason to end the relay.
process.stdout.on('error', () => {})

try {
  const settings = readSettings(process.env, ({ DATA_DIR }) =>
    DATA_DIR === undefined ? [] : dataDirFaults(DATA_DIR),
  )
  await using stack = new AsyncDisposableStack()
  const options = { settings, env: process.env, print: console.log, stop: stop.signal }
  const standalone = await startStandalone(stack, options)
  console.log(`
Postern runs
  Management API  ${standalone.apiUrl}
  Documentation   ${standalone.apiUrl}/docs
  Ingest          ${standalone.ingestUrl}
  Gateway         ${standalone.gatewayUrl}
${mailOf(standalone, settings)}  Dashboard       ${standalone.dashboardUrl}
  Project         ${standalone.projectId}
  API key         ${standalone.apiKey}
  Metrics         ${metricsOf(standalone.metricsUrls)}

Try: curl -H 'authorization: Bearer ${standalone.apiKey}' ${standalone.apiUrl}/v1/sources
${setupOf(standalone.setupUrl)}${placesOf(settings)}
Ctrl-C stops everything it started; the next start goes on where this one ended`)
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
  console.log('Stopping')
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

function metricsOf(urls: Standalone['metricsUrls']): string {
  const lines = Object.entries(urls).map(([role, url]) => `${url} (${role})`)
  return lines.join('\n                  ')
}

function mailOf({ smtpPort }: Standalone, { HOST }: Settings): string {
  return smtpPort === undefined ? '' : `  Mail            smtp://${HOST}:${smtpPort}\n`
}

/** Until there is an owner, whoever has the link becomes it. */
function setupOf(setupUrl: string | null): string {
  return setupUrl === null ? '' : `Make the first account of the dashboard: ${setupUrl}\n`
}

/** As root PostgreSQL may be unable to enter the data directory: then its data is elsewhere. */
function placesOf({ DATA_DIR, DATABASE_URL }: Settings): string {
  const dataDir = realpathSync(resolve(DATA_DIR))
  const data = DATABASE_URL === undefined ? dataOf(join(dataDir, 'postgres')) : undefined
  if (data === undefined || data.startsWith(`${dataDir}${sep}`)) {
    return `Data, logs and standalone.json are in ${dataDir}`
  }
  return `PostgreSQL's data is in ${data}, which its user may enter
Keys, logs, NATS' data and standalone.json are in ${dataDir}: keep and remove both together`
}

import pg from 'pg'

import { decodeId, encodeId } from '../../core/ids.ts'
import { startInstallation, type Installation } from '../installation.ts'
import { percentile } from '../measure.ts'
import { makeHistory } from '../reads/history.ts'
import { eventRequests, deliveryRequests, type Past, type Request } from '../reads/requests.ts'
import type { Row } from '../table.ts'

const SAMPLES = 100
/** The management API over a long past, one request at a time. */
export async function reads({ events }: { events: number }): Promise<Row[]> {
  await using installation = await startInstallation()
  const past = await openPast(installation, events)
  const rows: Row[] = []
  for (const { name, must, path, rounds } of [...eventRequests(past), ...deliveryRequests(past)]) {
    const times = await timed(installation, path, rounds)
    const at = (share: number): string => percentile(times, share).toFixed(1)
    rows.push({
      figure: `${events.toLocaleString('en')} events: ${name}`,
      must,
      measured: `p50 ${at(0.5)}, p99 ${at(0.99)} ms`,
      cpu: '',
    })
  }
  return rows
}

async function openPast(installation: Installation, events: number): Promise<Past> {
  const { id: sourceId } = await installation.call('POST', '/v1/sources', {
    name: 'past',
    verifier: { preset: 'github', secret: 'past' },
  })
  const ids: { connections: string[]; destinations: string[] } = {
    connections: [],
    destinations: [],
  }
  for (let n = 0; n < 10; n++) {
    const destination = await installation.call('POST', '/v1/destinations', {
      name: `past ${n}`,
      url: 'http://127.0.0.1:9/',
    })
    const connection = await installation.call('POST', '/v1/connections', {
      name: `past ${n}`,
      sourceId,
      destinationId: destination['id'],
    })
    ids.destinations.push(String(destination['id']))
    ids.connections.push(String(connection['id']))
  }
  const nowMs = Date.now()
  const client = new pg.Client(installation.databaseUrl)
  await client.connect()
  await using _end = { [Symbol.asyncDispose]: async () => await client.end() }
  const owner = await client.query<{ organisation_id: string; project_id: string }>(
    'select organisation_id, project_id from source',
  )
  await makeHistory(installation.databaseUrl, {
    organisationId: owner.rows[0]?.organisation_id ?? '',
    projectId: owner.rows[0]?.project_id ?? '',
    sourceIds: [uuid('src', sourceId)],
    connectionIds: ids.connections.map((id) => uuid('con', id)),
    destinationIds: ids.destinations.map((id) => uuid('dst', id)),
    events,
    nowMs,
  })
  const sample = async (table: 'event' | 'delivery'): Promise<string[]> => {
    const { rows } = await client.query<{ id: string }>(
      `select id from ${table} tablesample system (0.05) limit ${SAMPLES}`,
    )
    return rows.map((row) => encodeId(table === 'event' ? 'evt' : 'dlv', row.id))
  }
  return {
    sourceId: String(sourceId),
    connectionId: ids.connections[0] ?? '',
    destinationId: ids.destinations[0] ?? '',
    eventIds: await sample('event'),
    deliveryIds: await sample('delivery'),
    nowMs,
  }
}

function uuid(prefix: 'src' | 'con' | 'dst', id: unknown): string {
  const decoded = decodeId(prefix, String(id))
  if (decoded === undefined) throw new Error(`Cannot read ${String(id)}`)
  return decoded
}

async function timed(
  installation: Installation,
  path: Request['path'],
  rounds: number,
): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < rounds; n++) {
    const startedAt = performance.now()
    await installation.call('GET', path(n))
    times.push(performance.now() - startedAt)
  }
  return times.toSorted((a, b) => a - b)
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import pg from 'pg'

import { decodeId, encodeId } from '../../core/ids.ts'
import { answersOk } from '../../standalone/processes/answers-ok.ts'
import { waitFor } from '../../standalone/processes/os-process.ts'
import { ownerCookie } from '../../test/browser/people.ts'
import { Told } from '../../test/browser/told.ts'
import { startInstallation, type Installation } from '../installation.ts'
import { percentile } from '../measure.ts'
import { cpuUsOf, pidOf, readUsage } from '../processes.ts'
import { makeBesides } from '../reads/besides.ts'
import { makeHistory } from '../reads/history.ts'
import { planRows } from '../reads/plans.ts'
import {
  deliveryRequests,
  eventRequests,
  otherRequests,
  statisticsRequests,
  type Past,
  type PastRoute,
  type Request,
} from '../reads/requests.ts'
import type { Measured, Route } from '../reads/tenants.ts'
import type { Row } from '../table.ts'

const SAMPLES = 400
const RESTART_MS = 20_000

/** In ten-thousandths of its class: the busiest source, each ordinary one, and those of their own kinds. */
const SHARES = { busy: 3_000, ordinary: 220, rare: 1, retired: 200, failing: 700 }
const ORDINARY = 15

/**
 * The management API over a long past, one request at a time, all of them twice: by a process that has just started, and
 * by one that knows them. Then the plans of its queries.
 */
export async function reads({ events }: { events: number }): Promise<Row[]> {
  await using installation = await startInstallation({ AUTH_CALLS_PER_MINUTE: '1000000' })
  const { past, measured, rows: made } = await openPast(installation, events)
  await restartApi(installation)
  const requests = [
    ...eventRequests(past),
    ...deliveryRequests(past),
    ...statisticsRequests(past),
    ...otherRequests(past),
  ]
  const ask = await openAsk(installation)
  const first = await timeAll(installation, requests, ask)
  const again = await timeAll(installation, requests, ask)
  const figures = requests.map(({ name, must }, n) => ({
    figure: name,
    must,
    measured: `${first[n]?.times}; again ${again[n]?.times}`,
    cpu: again[n]?.cpu ?? '',
  }))
  const plans = await planRows(installation.databaseUrl, measured, past.nowMs)
  return [...made, ...figures, ...plans]
}

/** The process that was there before the past was made knows other tables. */
async function restartApi({ supervisorPid, apiUrl }: Installation): Promise<void> {
  const former = pidOf(supervisorPid, 'api')
  process.kill(former, 'SIGTERM')
  const isBack = async () => cpuUsOf(former) === 0 && (await answersOk(`${apiUrl}/openapi.json`))
  if (!(await waitFor(isBack, RESTART_MS))) throw new Error('The API does not start again')
}

interface Timed {
  times: string
  /** CPU time of a request. PostgreSQL's includes queries of the rest of the relay. */
  cpu: string
}

async function timeAll(
  installation: Installation,
  requests: Request[],
  ask: Ask,
): Promise<Timed[]> {
  const all: Timed[] = []
  for (const request of requests) {
    const { name, rounds } = request
    const before = readUsage(installation.supervisorPid)
    const times = await timed(request, ask)
    const after = readUsage(installation.supervisorPid)
    const at = (share: number): string => percentile(times, share).toFixed(1)
    const used = (part: 'api' | 'postgres'): string =>
      ((after[part].cpuUs - before[part].cpuUs) / 1_000 / rounds).toFixed(1)
    const figures = {
      times: `p50 ${at(0.5)}, p99 ${at(0.99)} ms`,
      cpu: `api ${used('api')}, postgres ${used('postgres')} ms`,
    }
    console.log(`${name}: ${figures.times}, ${figures.cpu}`)
    all.push(figures)
  }
  return all
}

async function openPast(
  installation: Installation,
  events: number,
): Promise<{ past: Past; measured: Measured; rows: Row[] }> {
  const project = await openProject(installation)
  const nowMs = Date.now()
  const client = new pg.Client(installation.databaseUrl)
  await client.connect()
  await using _end = { [Symbol.asyncDispose]: async () => await client.end() }
  const owner = await client.query<{ organisation_id: string; project_id: string }>(
    'select organisation_id, project_id from source limit 1',
  )
  const { organisation_id: organisationId = '', project_id: projectId = '' } = owner.rows[0] ?? {}
  const routed = (shown: Shown, share: number, isFailing = false): Route => ({
    share,
    organisationId,
    projectId,
    sourceId: uuid('src', shown.sourceId),
    connectionIds: [uuid('con', shown.connectionId), uuid('con', shown.sharedConnectionId)],
    destinationIds: [uuid('dst', shown.destinationId), uuid('dst', shown.sharedDestinationId)],
    isFailing,
  })
  const { busy, ordinary, rare, retired, failing } = project
  const measured: Measured = {
    organisationId,
    projectId,
    routes: [routed(busy, SHARES.busy), ...ordinary.map((shown) => routed(shown, SHARES.ordinary))],
    rare: routed(rare, SHARES.rare),
    retired: routed(retired, SHARES.retired),
    failing: routed(failing, SHARES.failing, true),
  }
  const startedAt = performance.now()
  await makeHistory(installation.databaseUrl, measured, { events, nowMs })
  await makeBesides(client, measured)
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  const sample = async (table: 'event' | 'delivery'): Promise<string[]> => {
    const { rows } = await client.query<{ id: string }>(
      `select id from ${table} tablesample bernoulli (1) where project_id = $1 order by random() limit ${SAMPLES}`,
      [projectId],
    )
    return rows.map((row) => encodeId(table === 'event' ? 'evt' : 'dlv', row.id))
  }
  const [first = busy] = ordinary
  const past: Past = {
    busy,
    ordinary: first,
    rare,
    retired,
    failing,
    eventIds: await sample('event'),
    deliveryIds: await sample('delivery'),
    nowMs,
    organisationId: encodeId('org', organisationId),
    projectId: encodeId('prj', projectId),
  }
  return { past, measured, rows: await sizeRows(client, seconds) }
}

/** Sizes of the tables to read. */
async function sizeRows(client: pg.Client, seconds: number): Promise<Row[]> {
  const { rows } = await client.query<{ name: string; rows: string; bytes: string; parts: string }>(
    `select split_part(relname, '_', 1) as name, sum(greatest(reltuples, 0)) as rows,
       pg_size_pretty(sum(pg_total_relation_size(oid))) as bytes, count(*) as parts
     from pg_class where relkind = 'r' and relispartition and relname ~ '^(event|delivery|attempt)_[0-9]'
     group by 1 order by 1`,
  )
  return rows.map((row) => ({
    figure: `rows of ${row.name}`,
    must: '',
    measured: `${Number(row.rows).toLocaleString('en')} in ${row.parts} partitions, ${row.bytes}`,
    cpu: `all made in ${seconds} s`,
  }))
}

interface Shown extends PastRoute {
  sharedConnectionId: string
}

interface Project {
  busy: Shown
  ordinary: Shown[]
  rare: Shown
  retired: Shown
  failing: Shown
}

/** Every source goes to a destination of its own and to one that all of them share. */
async function openProject(installation: Installation): Promise<Project> {
  const make = async (path: string, body: Record<string, unknown>): Promise<string> =>
    String((await installation.call('POST', path, body))['id'])
  const url = 'http://127.0.0.1:9/'
  const sharedDestinationId = await make('/v1/destinations', { name: 'shared', url })
  const open = async (name: string): Promise<Shown> => {
    const verifier = { preset: 'github', secret: 'past' }
    const sourceId = await make('/v1/sources', { name, verifier })
    const destinationId = await make('/v1/destinations', { name, url })
    const connect = (to: string, of: string): Promise<string> =>
      make('/v1/connections', { name: of, sourceId, destinationId: to })
    return {
      sourceId,
      destinationId,
      sharedDestinationId,
      connectionId: await connect(destinationId, name),
      sharedConnectionId: await connect(sharedDestinationId, `${name}, shared`),
    }
  }
  const ordinary: Shown[] = []
  for (let n = 0; n < ORDINARY; n++) ordinary.push(await open(`ordinary ${n}`))
  return {
    ordinary,
    busy: await open('busy'),
    rare: await open('rare'),
    retired: await open('retired'),
    failing: await open('failing'),
  }
}

function uuid(prefix: 'src' | 'con' | 'dst', id: string): string {
  const decoded = decodeId(prefix, id)
  if (decoded === undefined) throw new Error(`Cannot read ${id}`)
  return decoded
}

/** Sends the n-th of a request. */
type Ask = (request: Request, n: number) => Promise<unknown>

async function openAsk(installation: Installation): Promise<Ask> {
  const { apiUrl, dataDir } = installation
  const told = Told.parse(JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8')))
  const cookie = await ownerCookie(told)
  return async ({ path, body, isByPerson }, n) => {
    if (body !== undefined) return await installation.call('POST', path(n), body(n))
    if (isByPerson !== true) return await installation.read(path(n))
    const answer = await fetch(`${apiUrl}${path(n)}`, { headers: { cookie } })
    if (!answer.ok) throw new Error(`${path(n)} answered ${answer.status}`)
    return await answer.text()
  }
}

async function timed(request: Request, ask: Ask): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < request.rounds; n++) {
    const startedAt = performance.now()
    await ask(request, n)
    times.push(performance.now() - startedAt)
  }
  return times.toSorted((a, b) => a - b)
}

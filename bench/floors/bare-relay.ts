import { fork } from 'node:child_process'
import { once } from 'node:events'

import { AckPolicy, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream'
import pg from 'pg'
import { z } from 'zod'

import { openLog } from '../../core/log.ts'
import { openNats } from '../../core/nats.ts'
import { startInstallation } from '../installation.ts'
import { openTrafficSink, runTraffic, type Sink } from '../measure.ts'
import { PARTS, pidOf } from '../processes.ts'
import { fill, type Relay } from '../relay.ts'

const STREAM = 'BARE'
const TABLES = `
  create table bare_event (id uuid primary key, body bytea not null);
  create table bare_attempt (id uuid primary key, status smallint not null)`

/**
 * The least that keeps the promise: fastify, one commit before the 200, JetStream, undici, one commit of what came of it,
 * in two processes over the installation's PostgreSQL and NATS. Nothing is verified, matched, signed, paced or logged.
 */
export interface BareRelay extends AsyncDisposable {
  sink: Sink
  run: Relay['run']
  fill: Relay['fill']
  workerPid: Relay['workerPid']
}

export async function openBareRelay(): Promise<BareRelay> {
  await using stack = new AsyncDisposableStack()
  const installation = stack.use(await startInstallation())
  const { databaseUrl, natsUrl, supervisorPid } = installation
  const sink = stack.use(await openTrafficSink())
  await makeStore(databaseUrl, natsUrl)
  stack.use(holdRoles(supervisorPid))
  const env = { DATABASE_URL: databaseUrl, NATS_URL: natsUrl }
  const origin = new URL(sink.urls[0] ?? '').origin
  const worker = stack.use(await startRole('worker', { ...env, STREAM, ORIGIN: origin }))
  const ingest = stack.use(await startRole('ingest', { ...env, SUBJECT: STREAM }))
  const target = { url: new URL(ingest.heard), secret: 'floor', bodyBytes: 1_024 }
  const besides = [ingest.pid, worker.pid]
  const owned = stack.move()
  return {
    sink,
    run: (traffic) => runTraffic(sink, { ...traffic, fanOut: 1, target, supervisorPid, besides }),
    fill: (count) => fill(target, count),
    workerPid: () => worker.pid,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The installation's own stand still meanwhile: it is there for its PostgreSQL and NATS. */
function holdRoles(supervisorPid: number): Disposable {
  const roles = PARTS.filter((part) => part !== 'postgres' && part !== 'nats')
  const pids = roles.map((role) => pidOf(supervisorPid, role))
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return {
    [Symbol.dispose]() {
      for (const pid of pids) process.kill(pid, 'SIGCONT')
    },
  }
}

/** Told by its environment: a command that names PostgreSQL or NATS would be counted as theirs. */
async function startRole(role: 'ingest' | 'worker', env: Record<string, string>) {
  const child = fork(new URL(`relay/${role}/main.ts`, import.meta.url), {
    env: { ...process.env, ...env },
  })
  const [heard]: unknown[] = await once(child, 'message')
  return {
    pid: child.pid ?? 0,
    heard: z.string().parse(heard),
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

async function makeStore(databaseUrl: string, natsUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await client.query(TABLES)
  await client.end()
  const nats = await openNats(natsUrl, 'bench', openLog('silent', 'bench'))
  const manager = await jetstreamManager(nats)
  const retention = RetentionPolicy.Workqueue
  await manager.streams.add({ name: STREAM, subjects: [STREAM], retention })
  await manager.consumers.add(STREAM, {
    durable_name: STREAM,
    ack_policy: AckPolicy.Explicit,
    max_ack_pending: 1_000_000,
  })
  await nats.close()
}

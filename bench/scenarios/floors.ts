import { fork } from 'node:child_process'
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { openBareServer, sendFor } from '../floors/bare-server.ts'
import { timeCommits, timeMessages } from '../floors/storage.ts'
import { startInstallation } from '../installation.ts'
import { percentile } from '../measure.ts'
import { paced } from '../pace.ts'
import { readUsage } from '../processes.ts'
import { floorRow, rateText, type Row } from '../table.ts'
import { openSink, Senders } from '../traffic.ts'

const SECONDS = 4
const SYNCS = 200
const CONNECTIONS = 64

/** Rates at which nothing queues: what is left is the way there and back. */
const RATES = { slow: 50, fast: 500 }

/**
 * Measures the floors of this machine in the same run, to compare figures of different machines. The sum at the end is the
 * cost of an event when nothing is verified, matched, signed, parsed, logged or counted.
 */
export async function floors(): Promise<Row[]> {
  const server = await bareServer()
  const post = await barePost()
  const commit = await timeCommits()
  const message = await timeMessages()
  const sum = server.cpuUs + post.cpuUs + 2 * commit.cpuUsPerRow + message.cpuUs
  return [
    floorRow('HMAC-SHA256 of 1 KiB', `${timeHmac().toFixed(1)} us`),
    floorRow('8 KiB write and fdatasync', `p50 ${timeSync().toFixed(2)} ms`),
    floorRow('bare fastify 200, generator included', rateText(server.perSecond), us(server.cpuUs)),
    floorRow(`bare fastify 200 at ${RATES.slow}/s`, latencyText(server.slow)),
    floorRow(`bare fastify 200 at ${RATES.fast}/s`, latencyText(server.fast), us(server.fastUs)),
    floorRow(
      `fastify that commits a row before its 200, at ${RATES.fast}/s`,
      latencyText(server.kept),
      `server ${us(server.keptUs)}, postgres ${us(server.keptPostgresUs)}`,
    ),
    floorRow('bare undici POST, destination included', rateText(post.perSecond), us(post.cpuUs)),
    floorRow(
      'one row committed',
      latencyText(commit.single),
      `postgres ${Math.round(commit.cpuUsSingle)} us`,
    ),
    floorRow(
      '64 rows of 1 KiB committed',
      rateText(commit.perSecond),
      `postgres ${Math.round(commit.cpuUsPerRow)} us a row`,
    ),
    floorRow(
      'JetStream message stored, taken, acknowledged',
      rateText(message.perSecond),
      `nats ${Math.round(message.cpuUs)} us`,
    ),
    floorRow('an event: 200, POST, two rows in batches, message', '', us(sum)),
  ]
}

const us = (value: number): string => `${Math.round(value)} us`

function latencyText(sorted: readonly number[]): string {
  const at = (share: number): string => percentile(sorted, share).toFixed(2)
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)} ms`
}

function timeHmac(): number {
  const key = createSecretKey(randomBytes(32))
  const body = randomBytes(1_024)
  const rounds = 50_000
  const before = process.cpuUsage()
  for (let n = 0; n < rounds; n++) createHmac('sha256', key).update(body).digest('hex')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / rounds
}

function timeSync(): number {
  const directory = mkdtempSync(join(tmpdir(), 'postern-sync-'))
  const file = openSync(join(directory, 'probe'), 'w')
  const page = randomBytes(8_192)
  const times = Array.from({ length: SYNCS }, () => {
    const startedAt = performance.now()
    writeSync(file, page)
    fdatasyncSync(file)
    return performance.now() - startedAt
  })
  closeSync(file)
  rmSync(directory, { recursive: true })
  return percentile(
    times.toSorted((a, b) => a - b),
    0.5,
  )
}

interface BareTimes {
  perSecond: number
  /** CPU time of the server alone. */
  cpuUs: number
  /** Milliseconds to each answer at a rate, sorted, and the server's CPU for one. */
  slow: number[]
  fast: number[]
  fastUs: number
  /** The same with a row committed before the answer. */
  kept: number[]
  keptUs: number
  keptPostgresUs: number
}

async function bareServer(): Promise<BareTimes> {
  await using installation = await startInstallation()
  await using bare = await openBareServer(installation.databaseUrl)
  const { url } = bare
  const postgresUs = (): number => readUsage(installation.supervisorPid).postgres.cpuUs
  const target = { url, secret: 'floor', bodyBytes: 1_024, paths: ['/'] }
  const senders = new Senders(target)
  await senders.open(CONNECTIONS)
  await sendFor(senders, { connections: CONNECTIONS, ms: 1_000 })
  const before = await bare.cpuUs()
  const answered = await sendFor(senders, { connections: CONNECTIONS, ms: SECONDS * 1_000 })
  const afterFull = await bare.cpuUs()
  const slow = await sendAt(senders, RATES.slow)
  const beforeFast = await bare.cpuUs()
  const fast = await sendAt(senders, RATES.fast)
  const afterFast = await bare.cpuUs()
  senders.close()
  const keepers = new Senders({ ...target, paths: ['/kept'] })
  await keepers.open(CONNECTIONS)
  await sendAt(keepers, RATES.fast)
  const beforeKept = { server: await bare.cpuUs(), postgres: postgresUs() }
  const kept = await sendAt(keepers, RATES.fast)
  const afterKept = { server: await bare.cpuUs(), postgres: postgresUs() }
  keepers.close()
  return {
    perSecond: answered / SECONDS,
    cpuUs: (afterFull - before) / answered,
    slow,
    fast,
    fastUs: (afterFast - beforeFast) / fast.length,
    kept,
    keptUs: (afterKept.server - beforeKept.server) / kept.length,
    keptPostgresUs: (afterKept.postgres - beforeKept.postgres) / kept.length,
  }
}

/** Open loop. Returns milliseconds from when each was due to its answer, sorted. */
async function sendAt(senders: Senders, rate: number): Promise<number[]> {
  const times: number[] = []
  let sent = 0
  const send = (dueAt: number): void => {
    senders.send(sent++, () => times.push(performance.now() - dueAt))
  }
  await paced(rate).run(send, performance.now() + SECONDS * 1_000)
  while (times.length < sent) await sleep(1)
  return times.toSorted((a, b) => a - b)
}

const Sent = z.object({ sent: z.number(), cpuUs: z.number() })

async function barePost(): Promise<{ perSecond: number; cpuUs: number }> {
  await using sink = await openSink(() => undefined)
  const sender = new URL('../floors/sender.ts', import.meta.url)
  const child = fork(sender, [new URL(sink.url).origin, String(SECONDS * 1_000)])
  const [message]: unknown[] = await once(child, 'message')
  const { sent, cpuUs } = Sent.parse(message)
  if (child.exitCode === null) await once(child, 'exit')
  return { perSecond: sent / SECONDS, cpuUs: cpuUs / sent }
}

import { randomBytes, randomUUID } from 'node:crypto'

import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream'
import pg from 'pg'

import { byteaArray, uuidArray } from '../../core/db/connection/binary-arrays.ts'
import { openLog } from '../../core/log.ts'
import { openNats } from '../../core/nats.ts'
import { startInstallation, type Installation } from '../installation.ts'
import { readUsage, type Part } from '../processes.ts'

const ROWS = 64
const BATCHES = 400
const SINGLES = 300
const MESSAGES = 20_000
const UNDERWAY = 256

const INSERT = `insert into bare (id, body) select * from unnest($1::uuid[], $2::bytea[])`

interface Commits {
  /** Rows a second, in batches of 64, one batch at a time. */
  perSecond: number
  cpuUsPerRow: number
  /** Milliseconds to commit one row, sorted. */
  single: number[]
  cpuUsSingle: number
}

/** The least that storing can cost: a table of two columns and one index. */
export async function timeCommits(): Promise<Commits> {
  await using installation = await startInstallation()
  const client = new pg.Client(installation.databaseUrl)
  await client.connect()
  await client.query('create table bare (id uuid primary key, body bytea not null)')
  const body = randomBytes(1_024)
  const insert = async (rows: number): Promise<void> => {
    const ids = Array.from({ length: rows }, () => randomUUID())
    const values = [uuidArray(ids), byteaArray(ids.map(() => body))]
    await client.query({ name: 'bare', text: INSERT, values })
  }
  await insert(ROWS)
  const batches = await spent(installation, 'postgres', async () => {
    for (let n = 0; n < BATCHES; n++) await insert(ROWS)
  })
  const single: number[] = []
  const singles = await spent(installation, 'postgres', async () => {
    for (let n = 0; n < SINGLES; n++) {
      const startedAt = performance.now()
      await insert(1)
      single.push(performance.now() - startedAt)
    }
  })
  await client.end()
  return {
    perSecond: (ROWS * BATCHES) / batches.seconds,
    cpuUsPerRow: batches.cpuUs / (ROWS * BATCHES),
    single: single.toSorted((a, b) => a - b),
    cpuUsSingle: singles.cpuUs / SINGLES,
  }
}

/** The least that a hand-over can cost: 1 KiB published, stored, taken and acknowledged. */
export async function timeMessages(): Promise<{ perSecond: number; cpuUs: number }> {
  await using installation = await startInstallation()
  const nats = await openNats(installation.natsUrl, 'bench', openLog('silent', 'bench'))
  const manager = await jetstreamManager(nats)
  await manager.streams.add({
    name: 'BARE',
    subjects: ['bare'],
    retention: RetentionPolicy.Workqueue,
  })
  await manager.consumers.add('BARE', { durable_name: 'bare', ack_policy: AckPolicy.Explicit })
  const consumer = await jetstream(nats).consumers.get('BARE', 'bare')
  const messages = await consumer.consume({ max_messages: 1_000 })
  const body = randomBytes(1_024)
  const { seconds, cpuUs } = await spent(installation, 'nats', async () => {
    let published = 0
    let taken = 0
    const publish = (): void => {
      if (published++ < MESSAGES) nats.publish('bare', body)
    }
    for (let n = 0; n < UNDERWAY; n++) publish()
    for await (const message of messages) {
      message.ack()
      publish()
      if (++taken === MESSAGES) break
    }
  })
  await nats.close()
  return { perSecond: MESSAGES / seconds, cpuUs: cpuUs / MESSAGES }
}

async function spent(
  installation: Installation,
  part: Part,
  work: () => Promise<void>,
): Promise<{ seconds: number; cpuUs: number }> {
  const before = readUsage(installation.supervisorPid)[part].cpuUs
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1_000
  return { seconds, cpuUs: readUsage(installation.supervisorPid)[part].cpuUs - before }
}

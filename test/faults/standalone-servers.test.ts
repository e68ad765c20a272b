import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

import pg from 'pg'
import { pino } from 'pino'
import { expect, test } from 'vitest'

import { ensureDeliveryStream } from '../../core/jetstream/delivery-stream.ts'
import { DELIVERY_STREAM } from '../../core/jetstream/stream-subjects.ts'
import { openNats } from '../../core/nats.ts'
import { isAlive, waitFor } from '../../standalone/processes/os-process.ts'
import { keepServer } from '../../standalone/servers/keep-server.ts'
import { works } from '../../standalone/servers/nats-health.ts'
import { scratch, startTestNats, startTestPostgres } from '../kit/servers.ts'

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(sql)
    return rows
  } finally {
    await client.end()
  }
}

test('startPostgres() makes a UTF-8 database that sorts by code point', async () => {
  using directory = scratch()
  await using server = await startTestPostgres(directory.path)
  const sorted = await query(
    server.url,
    `select string_agg(x, '' order by x) as letters from unnest('{b,A,a,B}'::text[]) x`,
  )
  expect(sorted).toEqual([{ letters: 'ABab' }])
  expect(await query(server.url, 'show server_encoding')).toEqual([{ server_encoding: 'UTF8' }])
  const wrong = server.url.replace(/:[^:@]+@/, ':guess@')
  await expect(query(wrong, 'select 1')).rejects.toThrow('password authentication failed')
})

test('startPostgres() takes over a running server and brings back a killed one with its data', async () => {
  using directory = scratch()
  await using first = await startTestPostgres(directory.path)
  await query(first.url, 'create table kept as select 42 as answer')
  const second = await startTestPostgres(directory.path)
  expect(second).toMatchObject({ pid: first.pid, wasAdopted: true, url: first.url })
  process.kill(first.pid, 'SIGKILL')
  await Promise.all([first.died, second.died])
  await using third = await startTestPostgres(directory.path)
  expect(third).toMatchObject({ url: first.url, wasAdopted: false })
  expect(await query(third.url, 'select answer from kept')).toEqual([{ answer: 42 }])
  await third.stop()
  expect(isAlive(third.pid)).toBe(false)
})

test('startPostgres() moves to a free port where a stranger listens on its own', async () => {
  using directory = scratch()
  await using first = await startTestPostgres(directory.path)
  await first.stop()
  const stranger = createServer().listen(first.port, '127.0.0.1')
  await once(stranger, 'listening')
  await using second = await startTestPostgres(directory.path)
  stranger.close()
  expect(second.port).not.toBe(first.port)
  expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('startNats() takes over a running server and restarts a killed one on its port', async () => {
  using directory = scratch()
  await using first = await startTestNats(directory.path)
  const second = await startTestNats(directory.path)
  expect(second).toMatchObject({ pid: first.pid, wasAdopted: true, url: first.url })
  process.kill(first.pid, 'SIGKILL')
  await Promise.all([first.died, second.died])
  expect(existsSync(join(directory.path, 'nats', 'nats.pid'))).toBe(true)
  await using third = await startTestNats(directory.path)
  expect(third).toMatchObject({ url: first.url, wasAdopted: false })
  await third.stop()
  expect(isAlive(third.pid)).toBe(false)
})

test('startNats() runs no stranger whose pid a killed server left behind', async () => {
  using directory = scratch()
  await using first = await startTestNats(directory.path)
  process.kill(first.pid, 'SIGKILL')
  await first.died
  const pidFile = join(directory.path, 'nats', 'nats.pid')
  writeFileSync(pidFile, String(process.pid))
  await using second = await startTestNats(directory.path)
  expect(second.pid).not.toBe(process.pid)
})

test('works() finds that a NATS server stores, before there is a stream and after, and leaves nothing behind', async () => {
  using directory = scratch()
  await using server = await startTestNats(directory.path)
  expect(await works(server)).toBe(true)
  const nats = await openNats(server.url, 'test', pino({ level: 'silent' }))
  const manager = await ensureDeliveryStream(nats)
  expect(await works(server)).toBe(true)
  expect((await manager.streams.info(DELIVERY_STREAM)).state).toMatchObject({ messages: 0 })
  await nats.close()
  await server.stop()
  // Who is gone is started again because it is gone.
  expect(await works(server)).toBe(true)
})

test('keepServer() ends a server that does not work any more, and starts it again', async () => {
  using directory = scratch()
  const pids: number[] = []
  await using _kept = await keepServer({
    name: 'NATS',
    log: join(directory.path, 'nats.log'),
    start: async () => {
      const server = await startTestNats(directory.path)
      pids.push(server.pid)
      return server
    },
    works: async ({ pid }) => pid !== pids[0],
    print: () => {},
    stop: new AbortController().signal,
  })
  expect(await waitFor(() => pids.length === 2, 20_000)).toBe(true)
  expect(pids.map(isAlive)).toEqual([false, true])
})

import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ConfigChange } from '../../core/notices/config-changes.ts'
import { CONFIG_CHANGED } from '../../core/notices/notice-subjects.ts'
import { followConfig } from '../../dataplane/config-feed.ts'
import { seedRoute, uuid } from '../kit/seed.ts'
import { startWorld, type World } from '../kit/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

test('a change without a notice is heard once, also beside a transaction that stays open', async () => {
  const { db, nats } = world
  const client = new pg.Client({ connectionString: world.databaseUrl })
  // Where an expectation fails, its database goes before it does.
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  await client.query('create temporary table held as select 1')
  const first = uuid('src', (await seedRoute(world, 'first')).sourceId)
  const second = uuid('src', (await seedRoute(world, 'second')).sourceId)
  const stop = new AbortController()
  const heard: ConfigChange[] = []
  const feed = await followConfig(
    { db, nats, log: pino({ level: 'silent' }), processId: 'test', signal: stop.signal },
    (changes) => void heard.push(...changes),
  )
  const change = async (id: string) =>
    await db.updateTable('source').set({ event_type_field: 'x' }).where('id', '=', id).execute()
  const tellings = (id: string) => heard.filter((one) => one.kind === 'source' && one.id === id)
  const hears = async (id: string, times: number) =>
    await expect.poll(() => tellings(id).length, { timeout: 5_000 }).toBe(times)

  await change(first)
  await hears(first, 1)
  await change(second)
  await hears(second, 1)
  await client.end()
  await change(second)
  await hears(second, 2)
  await change(first)
  await hears(first, 2)
  expect(tellings(second)).toHaveLength(2)
  stop.abort()
  await feed.done
})

test('a notice that cannot be read, or followed, is left to the look at the changes', async () => {
  const { db, nats } = world
  // Others use the subject as well: this source is in no table, and in no notice but these.
  const id = crypto.randomUUID()
  const stop = new AbortController()
  let heard = 0
  const feed = await followConfig(
    { db, nats, log: pino({ level: 'silent' }), processId: 'under test', signal: stop.signal },
    (changes) => {
      if (!changes.some((one) => one.id === id)) return
      heard += 1
      if (heard === 1) throw new Error('PostgreSQL is away')
    },
  )
  const acknowledged: string[] = []
  const reply = `acknowledged.${id}`
  nats.subscribe(reply, {
    callback: (_error, message) => void acknowledged.push(message.string()),
  })
  const tell = (text: string): void => nats.publish(CONFIG_CHANGED, text, { reply })
  tell(JSON.stringify({ changes: [{ kind: 'of a newer version', id }] }))
  tell('no JSON')
  tell(JSON.stringify({ changes: [{ kind: 'source', id }] }))
  await expect.poll(() => heard).toBe(1)
  expect(acknowledged).not.toContain('under test')
  tell(JSON.stringify({ changes: [{ kind: 'source', id }] }))
  await expect.poll(() => acknowledged).toContain('under test')
  expect(heard).toBe(2)
  stop.abort()
  await feed.done
})

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { MIGRATIONS } from '../../core/db/migrations/index.ts'
import { startWorld, type World } from '../kit/world.ts'

const run = promisify(execFile)

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => await world[Symbol.asyncDispose]())

async function recorded(): Promise<string[]> {
  const { rows } = await world.pool.query<{ name: string }>('select name from kysely_migration')
  return rows.map(({ name }) => name)
}

async function record(name: string): Promise<void> {
  const values = [name, new Date().toISOString()]
  await world.pool.query('insert into kysely_migration (name, timestamp) values ($1, $2)', values)
}

/** Runs the program as a Job of the chart does. */
async function migrate(): Promise<string> {
  const env = { ...process.env, DATABASE_URL: world.databaseUrl }
  const { stdout } = await run(process.execPath, ['api/migrate/main.ts'], { env })
  return stdout
}

test('migrate of an older version leaves a newer schema as it is and succeeds', async () => {
  await record('9999-of-the-next-version')
  const before = await recorded()
  expect(await migrate()).toContain('The schema is of a newer version: nothing to migrate')
  expect(await recorded()).toEqual(before)
})

test('a schema that lacks a migration of this version is no newer one: migrate fails', async () => {
  const [first = ''] = Object.keys(MIGRATIONS)
  await world.pool.query('delete from kysely_migration where name = $1', [first])
  await expect(migrate()).rejects.toThrow('Cannot migrate the database')
})

import { randomBytes } from 'node:crypto'

import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'

import { openDb, openPool } from '../core/db/connection/db.ts'
import { migrate } from '../core/db/migrate.ts'
import { ownDatabase } from '../core/db/own-database.ts'
import { openLog } from '../core/log.ts'

test('ownDatabase() gives an existing database, with all that is in it, to a role without superuser rights', async () => {
  const name = `owned_${randomBytes(4).toString('hex')}`
  const admin = new pg.Client({ connectionString: inject('postgresUrl') })
  await admin.connect()
  await admin.query(`create database ${name}`)
  onTestFinished(async () => {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })
  const superuser = new URL(inject('postgresUrl'))
  superuser.pathname = `/${name}`
  await migrateWith(superuser.href)

  const url = await ownDatabase(superuser.href)
  expect(await ownDatabase(superuser.href)).toBe(url)
  expect(new URL(url).password).not.toBe(superuser.password)
  const owner = new pg.Client({ connectionString: url })
  await owner.connect()
  try {
    const { rows } = await owner.query(
      `select rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
         from pg_roles where rolname = user`,
    )
    expect(rows).toEqual([
      {
        rolname: 'postern',
        rolsuper: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolreplication: false,
        rolbypassrls: false,
      },
    ])
    const foreign = await owner.query(
      `select relname from pg_class where relnamespace = 'public'::regnamespace and relowner <> user::regrole
       union all
       select proname from pg_proc where pronamespace = 'public'::regnamespace and proowner <> user::regrole`,
    )
    expect(foreign.rows).toEqual([])
    await expect(owner.query(`create role intruder`)).rejects.toThrow('permission denied')
    await expect(owner.query(`copy (select 1) to program 'true'`)).rejects.toThrow('permission')
  } finally {
    await owner.end()
  }
  // A migration that comes later is the owner's, and so is dropping what is old.
  await migrateWith(url)
})

async function migrateWith(url: string): Promise<void> {
  await using db = openDb(openPool({ url, max: 2, log: openLog('silent', 'test') }))
  await migrate(db, Date.now())
}

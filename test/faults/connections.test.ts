import { pino } from 'pino'
import { expect, inject, test } from 'vitest'

import { openPool } from '../../core/db/connection/db.ts'

// An error event that nobody hears ends the process: vitest reports it and the run fails.
test('openPool() outlives a connection that breaks between two statements of its holder', async () => {
  const log = pino({ level: 'silent' })
  await using stack = new AsyncDisposableStack()
  const pool = stack.adopt(openPool({ url: inject('postgresUrl'), max: 2, log }), (one) =>
    one.end(),
  )
  const held = await pool.connect()
  const { rows } = await held.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = Promise.withResolvers<void>()
  held.once('end', ended.resolve)
  await pool.query('select pg_terminate_backend($1::int4)', [rows[0]?.pid])
  await ended.promise
  await expect(held.query('select 1')).rejects.toThrow('not queryable')
  held.release()
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

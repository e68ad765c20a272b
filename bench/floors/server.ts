import { randomUUID } from 'node:crypto'

import pg from 'pg'

import { byteaArray, uuidArray } from '../../core/db/connection/binary-arrays.ts'
import { Batcher } from '../../dataplane/batcher.ts'
import { bareFastify } from './bare-fastify.ts'

const BATCH = {
  itemsMax: 512,
  bytesMax: 8 * 1024 * 1024,
  lanes: 1,
  windowMs: 0,
  queueMax: 10_000,
  queueBytesMax: 64 * 1024 * 1024,
}

/**
 * A bare fastify that answers 200, at the second path when the body is committed to a table of two columns. Tells its
 * parent its address, and the CPU it used whenever asked.
 */
const [databaseUrl] = process.argv.slice(2)
const client = new pg.Client(databaseUrl)
await client.connect()
await client.query('create table if not exists kept (id uuid primary key, body bytea not null)')
const kept = new Batcher<Buffer, true>(BATCH, async (bodies) => {
  await client.query({
    name: 'keep',
    text: 'insert into kept (id, body) select * from unnest($1::uuid[], $2::bytea[])',
    values: [uuidArray(bodies.map(() => randomUUID())), byteaArray(bodies)],
  })
  return bodies.map(() => true)
})

const app = bareFastify()
app.post('/', () => ({ ok: true }))
app.post<{ Body: Buffer }>('/kept', async ({ body }) => {
  await kept.add(body)
  return { ok: true }
})
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
process.once('disconnect', () => process.exit())

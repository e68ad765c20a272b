import { randomUUID } from 'node:crypto'

import pg from 'pg'

import { byteaArray, uuidArray } from '../../../../core/db/connection/binary-arrays.ts'
import { openLog } from '../../../../core/log.ts'
import { openNats } from '../../../../core/nats.ts'
import { Batcher } from '../../../../dataplane/batcher.ts'
import { bareFastify } from '../../bare-fastify.ts'
import { packBatch, type Stored } from '../batch.ts'

const BATCH = {
  itemsMax: 256,
  bytesMax: 512 * 1024,
  lanes: 1,
  windowMs: 0,
  queueMax: 10_000,
  queueBytesMax: 64 * 1024 * 1024,
}

/** The bare relay's first half: a body is committed, published in the message of its batch, answered with 200. */
const { DATABASE_URL = '', NATS_URL = '', SUBJECT = '' } = process.env
const client = new pg.Client(DATABASE_URL)
await client.connect()
const nats = await openNats(NATS_URL, 'bench', openLog('silent', 'bench'))
const stored = new Batcher<Stored, true>(BATCH, async (events) => {
  await client.query({
    name: 'store',
    text: 'insert into bare_event (id, body) select * from unnest($1::uuid[], $2::bytea[])',
    values: [
      uuidArray(events.map(({ id }) => id)),
      byteaArray(events.map(({ body }) => Buffer.from(body))),
    ],
  })
  nats.publish(SUBJECT, packBatch(events))
  return events.map(() => true)
})

const app = bareFastify()
app.post<{ Body: Buffer }>('/', async ({ body }) => {
  await stored.add({ id: randomUUID(), body }, body.length)
  return { ok: true }
})
process.send?.(await app.listen({ host: '127.0.0.1', port: 0 }))
process.once('disconnect', () => process.exit())

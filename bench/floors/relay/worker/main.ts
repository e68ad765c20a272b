import { jetstream } from '@nats-io/jetstream'
import pg from 'pg'
import { Agent } from 'undici'

import { int2Array, uuidArray } from '../../../../core/db/connection/binary-arrays.ts'
import { openLog } from '../../../../core/log.ts'
import { openNats } from '../../../../core/nats.ts'
import { Batcher } from '../../../../dataplane/batcher.ts'
import { post } from '../../post.ts'
import { unpackBatch } from '../batch.ts'

const CONNECTIONS = 64
const MESSAGES = 16

const BATCH = {
  itemsMax: 256,
  bytesMax: 512 * 1024,
  lanes: 1,
  windowMs: 5,
  queueMax: 100_000,
  queueBytesMax: 64 * 1024 * 1024,
}

interface Result {
  id: string
  status: number
}

/** The bare relay's second half: each body of a message is posted, its status committed, the message acknowledged. */
const { DATABASE_URL = '', NATS_URL = '', STREAM = '', ORIGIN = '' } = process.env
const client = new pg.Client(DATABASE_URL)
await client.connect()
const nats = await openNats(NATS_URL, 'bench', openLog('silent', 'bench'))
const agent = new Agent({ connections: CONNECTIONS })
const recorded = new Batcher<Result, true>(BATCH, async (results) => {
  await client.query({
    name: 'record',
    text: 'insert into bare_attempt (id, status) select * from unnest($1::uuid[], $2::int2[])',
    values: [
      uuidArray(results.map(({ id }) => id)),
      int2Array(results.map(({ status }) => status)),
    ],
  })
  return results.map(() => true)
})

const consumer = await jetstream(nats).consumers.get(STREAM, STREAM)
const messages = await consumer.consume({ max_messages: MESSAGES })
process.send?.('ready')
process.once('disconnect', () => process.exit())
for await (const message of messages) {
  const posted = unpackBatch(message.data).map(async ({ id, body }) => {
    await recorded.add({ id, status: await post(agent, ORIGIN, body) })
  })
  void Promise.all(posted).then(() => message.ack())
}

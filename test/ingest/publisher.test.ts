import { pino } from 'pino'
import { expect, inject, test } from 'vitest'

import {
  encodeDelivery,
  encodeEvent,
  unpackDeliveries,
} from '../../core/jetstream/delivery-message.ts'
import { openNats, type NatsConnection } from '../../core/nats.ts'
import { Publisher } from '../../dataplane/ingest/accept/publisher.ts'
import { eventually, SOON_MS } from '../kit/relay.ts'

const BODY = Buffer.alloc(64 * 1024)
const SOME = 3_000
const MEGABYTE = 1024 * 1024
const log = pino({ level: 'silent' })

async function open(stack: AsyncDisposableStack): Promise<NatsConnection> {
  const nats = await openNats(inject('natsUrl'), 'publisher', log)
  stack.defer(async () => await nats.close())
  return nats
}

test('messages that NATS does not confirm take a bounded part of memory', async () => {
  await using stack = new AsyncDisposableStack()
  // Somebody listens and acknowledges nothing, as a server whose disk is full.
  const subject = `silent.${crypto.randomUUID()}`
  const listener = await open(stack)
  listener.subscribe(subject, { callback: () => {} })
  await listener.flush()
  const publisher = stack.use(new Publisher(await open(stack)))
  for (let count = 0; count < SOME; count++) publisher.publish(subject, BODY)
  const keptBytes = (SOME - publisher.dropped) * BODY.length
  expect(keptBytes).toBeGreaterThan(32 * MEGABYTE)
  expect(keptBytes).toBeLessThanOrEqual(64 * MEGABYTE)
  await eventually(() => expect(publisher.dropped).toBe(SOME), 15_000)
})

test('a message that no stream accepts is given up at once', async () => {
  await using stack = new AsyncDisposableStack()
  const publisher = stack.use(new Publisher(await open(stack)))
  publisher.publish(`nobody.${crypto.randomUUID()}`, BODY)
  await eventually(() => expect(publisher.dropped).toBe(1), SOON_MS)
})

test('deliveries of one partition that come in one turn are one message, of bounded size', async () => {
  await using stack = new AsyncDisposableStack()
  const prefix = `packed.${crypto.randomUUID()}`
  const listener = await open(stack)
  const sizes: Record<string, number[]> = {}
  listener.subscribe(`${prefix}.*`, {
    callback: (_error, { subject, data }) => {
      const partition = subject.slice(prefix.length + 1)
      ;(sizes[partition] ??= []).push(unpackDeliveries(data).length)
    },
  })
  await listener.flush()
  const publisher = stack.use(new Publisher(await open(stack)))
  const send = (partition: string, count: number, bodyBytes: number): void => {
    for (let n = 0; n < count; n++) {
      publisher.publish(`${prefix}.${partition}`, deliveryOf(bodyBytes))
    }
  }
  send('few', 3, 100)
  send('many', 150, 100)
  await Promise.resolve()
  send('few', 2, 100)
  send('large', 3, 50_000)
  await eventually(() => expect(sizes).toEqual({ few: [5], many: [64, 64, 22], large: [2, 1] }))
  send('few', 1, 100)
  await eventually(() => expect(sizes['few']).toEqual([5, 1]))
})

function deliveryOf(bodyBytes: number): Buffer {
  const event = {
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    class: 90,
    organisationId: '01890a5d-ac96-774b-bcce-b302099a8058',
    projectId: '01890a5d-ac96-774b-bcce-b302099a8059',
    sourceId: '01890a5d-ac96-774b-bcce-b302099a8063',
    sourceName: 'orders',
    verifiedWith: 'none',
    remoteIp: '192.0.2.1',
    headers: '[]',
  }
  return encodeDelivery(encodeEvent(event, Buffer.alloc(bodyBytes)), {
    id: '01890a5d-ac96-774b-bcce-b302099a8060',
    connectionId: '01890a5d-ac96-774b-bcce-b302099a8061',
    destinationId: '01890a5d-ac96-774b-bcce-b302099a8062',
    partition: 0,
    maxAttempts: 8,
    leaseUntilMs: 1_800_000_000_000,
  })
}

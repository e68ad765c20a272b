import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { pino } from 'pino'
import { expect, test } from 'vitest'

import { SpoolReader, type SpooledMessage } from '../../core/jetstream/spool-reader.ts'
import { appendToSpool, ensureSpool, removeFromSpool } from '../../core/jetstream/spool-stream.ts'
import { SPOOL_STREAM } from '../../core/jetstream/stream-subjects.ts'
import { openNats, type NatsConnection } from '../../core/nats.ts'
import { scratch, startTestNats } from '../kit/servers.ts'

const MIB = 1024 * 1024
const BATCH = { limit: 4, bytesMax: MIB / 4 }
const SHARE = 'spool.0'

interface Opened {
  nats: NatsConnection
  manager: JetStreamManager
}

/** A server of its own with an empty spool. */
async function openSpool(stack: AsyncDisposableStack): Promise<Opened> {
  const { url } = stack.use(await startTestNats(stack.use(scratch()).path))
  const nats = await openNats(url, 'spool', pino({ level: 'silent' }))
  stack.defer(async () => await nats.close())
  const manager = await jetstreamManager(nats)
  await ensureSpool(manager, { replicas: 1, maxBytes: 8 * MIB })
  return { nats, manager }
}

async function append({ nats }: Opened, text: string, subject = SHARE): Promise<void> {
  await appendToSpool(nats, { subject, data: Buffer.from(text), key: undefined })
}

const textsOf = (messages: readonly SpooledMessage[]): string[] =>
  messages.map(({ data }) => Buffer.from(data).toString())

test('events that reach the spool while it is read are read later, and none is removed unread', async () => {
  await using stack = new AsyncDisposableStack()
  const opened = await openSpool(stack)
  const sent = Array.from({ length: 30 }, (_, number) => String(number))
  for (const text of sent.slice(0, 6)) await append(opened, text)
  await using reader = await SpoolReader.open({ ...opened, share: SHARE })
  const late = (async () => {
    for (const text of sent.slice(6)) {
      await append(opened, 'of another share', 'spool.1')
      await append(opened, text)
    }
  })()
  const seen: string[] = []
  while (seen.length < sent.length) {
    const messages = await reader.next(BATCH)
    expect(messages.length).toBeLessThanOrEqual(BATCH.limit)
    seen.push(...textsOf(messages))
    const last = messages.at(-1)
    if (last !== undefined) await removeFromSpool(opened.manager, SHARE, last.sequence)
  }
  await late
  expect(seen).toEqual(sent)
  expect(await reader.next(BATCH)).toEqual([])
  const lengths = await ensureSpool(opened.manager, { replicas: 1, maxBytes: 8 * MIB })
  expect(lengths).toEqual({ 'spool.1': 24 })
})

test('a batch has at most so many bytes, and an event that is larger comes alone', async () => {
  await using stack = new AsyncDisposableStack()
  const opened = await openSpool(stack)
  const large = 'x'.repeat(MIB / 2)
  const half = 'y'.repeat(MIB / 8)
  const sent = ['first', large, half, half, half, 'last']
  for (const text of sent) await append(opened, text)
  await using reader = await SpoolReader.open({ ...opened, share: SHARE })
  const seen: string[] = []
  for (;;) {
    const texts = textsOf(await reader.next(BATCH))
    if (texts.length === 0) break
    const bytesMax = texts.length > 1 ? BATCH.bytesMax : large.length
    expect(texts.join('').length).toBeLessThanOrEqual(bytesMax)
    seen.push(...texts)
  }
  expect(seen.map((text) => text.length)).toEqual(sent.map((text) => text.length))
})

test('a reader whose consumer is gone fails, and another begins with what was not removed', async () => {
  await using stack = new AsyncDisposableStack()
  const opened = await openSpool(stack)
  for (let number = 0; number < 6; number++) await append(opened, String(number))
  await using reader = await SpoolReader.open({ ...opened, share: SHARE })
  const [first, second] = await reader.next(BATCH)
  expect(first && Buffer.from(first.data).toString()).toBe('0')
  await removeFromSpool(opened.manager, SHARE, second?.sequence ?? 0)
  for await (const { name } of opened.manager.consumers.list(SPOOL_STREAM)) {
    await opened.manager.consumers.delete(SPOOL_STREAM, name)
  }
  await expect(reader.next(BATCH)).rejects.toThrow('Cannot read the spool: 503')
  await using another = await SpoolReader.open({ ...opened, share: SHARE })
  expect(textsOf(await another.next(BATCH))).toEqual(['2', '3', '4', '5'])
})

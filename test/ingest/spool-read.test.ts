import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { pino } from 'pino'
import { expect, test } from 'vitest'

import {
  appendToSpool,
  ensureSpool,
  readSpool,
  removeFromSpool,
} from '../../core/jetstream/spool-stream.ts'
import { openNats, type NatsConnection } from '../../core/nats.ts'
import { scratch, startTestNats } from '../kit/servers.ts'

const MIB = 1024 * 1024
const BATCH = { limit: 256, bytesMax: 8 * MIB }

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

async function append({ nats }: Opened, text: string): Promise<void> {
  await appendToSpool(nats, Buffer.from(text), undefined)
}

async function read({ manager }: Opened): Promise<[string[], through: number]> {
  const messages = await readSpool(manager, BATCH)
  const texts = messages.map(({ data }) => Buffer.from(data).toString())
  return [texts, messages.at(-1)?.sequence ?? 0]
}

test('events that reach the spool while its end is read are read later, and none is removed unread', async () => {
  await using stack = new AsyncDisposableStack()
  const opened = await openSpool(stack)
  for (const text of ['1', '2', '3']) await append(opened, text)
  // Answers of the server arrive in turn: number 4 is not there when it is asked for, and 5 is.
  const { streams } = opened.manager
  const getMessage = streams.getMessage.bind(streams)
  let isLate = true
  const appended = Promise.withResolvers<void>()
  streams.getMessage = async (stream, query) => {
    const seq = 'seq' in query && !('next_by_subj' in query) ? query.seq : 0
    if (!isLate || seq < 4) return await getMessage(stream, query)
    if (seq > 4) await appended.promise
    const found = await getMessage(stream, query)
    if (seq === 4) {
      isLate = false
      for (const text of ['4', '5']) await append(opened, text)
      appended.resolve()
    }
    return found
  }
  const seen: string[] = []
  for (;;) {
    const [texts, through] = await read(opened)
    if (texts.length === 0) break
    seen.push(...texts)
    await removeFromSpool(opened.manager, through)
  }
  expect(seen).toEqual(['1', '2', '3', '4', '5'])
})

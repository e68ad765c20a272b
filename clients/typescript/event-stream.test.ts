import { expect, test } from 'vitest'

import { messagesOf, type StreamMessage } from './event-stream.ts'

async function read(...chunks: string[]): Promise<StreamMessage[]> {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk))
      controller.close()
    },
  })
  const messages: StreamMessage[] = []
  for await (const message of messagesOf(body)) messages.push(message)
  return messages
}

test('messages are whole however the bytes are cut', async () => {
  const text =
    'retry: 3000\n\nid: 1.a\nevent: ready\ndata: {"at":1}\n\nid: 1.b\nevent: event.created\ndata: {"n":"Å"}\n\n'
  const cut = text.split('')
  expect(await read(...cut)).toEqual([
    { id: '1.a', type: 'ready', data: { at: 1 } },
    { id: '1.b', type: 'event.created', data: { n: 'Å' } },
  ])
})

test('a message that was begun and not ended is none', async () => {
  expect(await read('id: 1\ndata: {"half')).toEqual([])
})

import { afterEach, expect, test, vi } from 'vitest'

import { openApi } from '../api/client.ts'
import { follow } from './follow.ts'

afterEach(() => vi.unstubAllGlobals())

/** Follows a stream whose text the test writes; answers with what was told so far. */
function followed(position: { last: string | undefined }) {
  let written: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (written = controller),
  })
  vi.stubGlobal('fetch', async () => new Response(body))
  const told: string[] = []
  const stop = new AbortController()
  const on = {
    state: (state: string) => told.push(state),
    begin: () => told.push('begins'),
    message: ({ type }: { type: string }) => {
      told.push(type)
      if (type === 'event.created') stop.abort()
    },
  }
  const ends = follow(openApi('prj_1').streamEvents, on, stop.signal, position)
  const write = (text: string) => written?.enqueue(new TextEncoder().encode(text))
  const close = async () => {
    written?.close()
    await ends
  }
  return { told, write, close }
}

const READY = 'id: 2.a\nevent: ready\ndata: {}\n\n'
const EVENT = 'id: 2.b\nevent: event.created\ndata: {}\n\n'

test('a stream is live when it says that it is ready, and begins there', async () => {
  const { told, write, close } = followed({ last: undefined })
  write('retry: 3000\n\n')
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(told).toEqual(['connecting'])
  write(READY + EVENT)
  await close()
  expect(told).toEqual(['connecting', 'live', 'begins', 'ready', 'event.created'])
})

test('a stream that goes on behind a position does not begin anew', async () => {
  const { told, write, close } = followed({ last: '1.z' })
  write(READY + EVENT)
  await close()
  expect(told).toEqual(['connecting', 'live', 'ready', 'event.created'])
})

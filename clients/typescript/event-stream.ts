import type { Schemas } from './method.ts'

/** A message of the live stream of events. (docs/event-stream.md) */
export type StreamMessage =
  | { type: 'event.created'; id: string; data: Schemas['EventSummary'] }
  | { type: 'ready'; id: string; data: { at: string } }
  | { type: 'ping'; id: string; data: unknown }
  | { type: 'gap'; id: string; data: { reason: string; from: string | null; until: string | null } }

/** The messages of Server-Sent Events out of the bytes of an answer, as they come. */
export async function* messagesOf(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamMessage, void, undefined> {
  let rest = ''
  for await (const chunk of textOf(body)) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const message = messageOf(block)
      if (message !== undefined) yield message
    }
  }
}

/** Not every browser reads a stream with `for await`. Who takes no further message ends the connection. */
async function* textOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Undefined for a block without data, such as `retry`. */
function messageOf(block: string): StreamMessage | undefined {
  let id = ''
  let type = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const at = line.indexOf(':')
    if (at <= 0) continue
    const name = line.slice(0, at)
    const value = line.slice(at + 1).replace(/^ /, '')
    if (name === 'id') id = value
    else if (name === 'event') type = value
    else if (name === 'data') data.push(value)
  }
  if (data.length === 0) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- docs/event-stream.md states the messages
  return { type, id, data: JSON.parse(data.join('\n')) } as StreamMessage
}

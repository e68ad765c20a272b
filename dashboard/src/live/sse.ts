export interface Message {
  id: string | undefined
  event: string
  data: string
}

/** Server-Sent Events out of the bytes of an answer. EventSource cannot resume after a close; fetch can. */
export async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
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

async function* textOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    reader.releaseLock()
  }
}

/** Undefined for a block without data or id, such as `retry`. */
function messageOf(block: string): Message | undefined {
  let id: string | undefined
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const at = line.indexOf(':')
    if (at <= 0) continue
    const name = line.slice(0, at)
    const value = line.slice(at + 1).replace(/^ /, '')
    if (name === 'id') id = value
    else if (name === 'event') event = value
    else if (name === 'data') data.push(value)
  }
  if (id === undefined && data.length === 0) return undefined
  return { id, event, data: data.join('\n') }
}

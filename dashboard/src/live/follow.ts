import { messagesOf, type Message } from './sse.ts'

const AGAIN_MS = 3000
/** A ping comes every 15 s; after this much silence the connection is dead at the other end. */
const SILENCE_MS = 35_000

export type FollowState = 'connecting' | 'live' | 'waiting' | 'refused'

interface Listener {
  message: (message: Message) => void
  state: (state: FollowState) => void
  /** The stream begins here: what was stored before is not in it. */
  begin: () => void
}

/** Follows a stream until the signal aborts: comes back behind the last position after every end. */
export async function follow(
  address: string,
  on: Listener,
  signal: AbortSignal,
  position: { last: string | undefined },
): Promise<void> {
  while (!signal.aborted) {
    on.state('connecting')
    const isWelcome = await followOnce(address, on, signal, position).catch(() => true)
    if (signal.aborted) return
    on.state(isWelcome ? 'waiting' : 'refused')
    if (!isWelcome) return
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** False when the server will not have this stream. */
async function followOnce(
  address: string,
  on: Listener,
  signal: AbortSignal,
  position: { last: string | undefined },
): Promise<boolean> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    const response = await fetch(address, {
      headers: {
        accept: 'text/event-stream',
        ...(position.last === undefined ? {} : { 'last-event-id': position.last }),
      },
      signal: AbortSignal.any([signal, silence.signal]),
    })
    if (response.status === 400) position.last = undefined
    if (!response.ok || response.body === null)
      return response.status >= 429 || response.status === 400
    const isResumed = position.last !== undefined
    for await (const message of messagesOf(response.body)) {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
      if (message.id !== undefined) position.last = message.id
      // Only from here on nothing is missed: the answer itself comes sooner.
      const isReady = message.event === 'ready'
      if (isReady) on.state('live')
      if (isReady && !isResumed) on.begin()
      on.message(message)
    }
    return true
  } finally {
    clearTimeout(timer)
  }
}

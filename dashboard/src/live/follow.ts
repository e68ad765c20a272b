import type { StreamMessage } from '../api/client.ts'
import { PosternError } from '../api/reach.ts'

const AGAIN_MS = 3000

export type FollowState = 'connecting' | 'live' | 'waiting' | 'refused'

interface Listener {
  message: (message: StreamMessage) => void
  state: (state: FollowState) => void
  /** The stream begins here: what was stored before is not in it. */
  begin: () => void
}

/** Opens the stream behind a position. */
export type Open = (behind: {
  lastEventId: string | undefined
  signal: AbortSignal
}) => AsyncIterable<StreamMessage>

/** Follows a stream until the signal aborts: comes back behind the last position after every end. */
export async function follow(
  open: Open,
  on: Listener,
  signal: AbortSignal,
  position: { last: string | undefined },
): Promise<void> {
  while (!signal.aborted) {
    on.state('connecting')
    const isWelcome = await followOnce(open, on, signal, position)
    if (signal.aborted) return
    on.state(isWelcome ? 'waiting' : 'refused')
    if (!isWelcome) return
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** False when the server will not have this stream. */
async function followOnce(
  open: Open,
  on: Listener,
  signal: AbortSignal,
  position: { last: string | undefined },
): Promise<boolean> {
  const isResumed = position.last !== undefined
  try {
    for await (const message of open({ lastEventId: position.last, signal })) {
      if (message.id !== '') position.last = message.id
      // Only from here on nothing is missed: the answer itself comes sooner.
      const isReady = message.type === 'ready'
      if (isReady) on.state('live')
      if (isReady && !isResumed) on.begin()
      on.message(message)
    }
    return true
  } catch (error) {
    if (!(error instanceof PosternError) || error.status === 0) return true
    if (error.status === 400) position.last = undefined
    return error.status >= 429 || error.status === 400
  }
}

import { retryAfterSeconds } from './retry-after.ts'

const FIRST_WAIT_MS = 250
const WAIT_MS_MAX = 30_000
/** Too many requests, or a server that is away for a moment: the request was not carried out. */
const PASSING = new Set([429, 502, 503, 504])

interface Options {
  retries: number
  signal: AbortSignal | undefined
}

/** Sends again, `retries` times at most, when there was no answer or a passing refusal. */
export async function sendAgain(
  send: () => Promise<Response>,
  { retries, signal }: Options,
): Promise<Response> {
  for (let left = retries; ; left--) {
    const isLast = left <= 0
    const answer = await send().catch((error: unknown) => {
      if (isLast || signal?.aborted === true) throw error
      return undefined
    })
    if (answer !== undefined && (isLast || !PASSING.has(answer.status))) return answer
    const waitMs = waitOf(answer, retries - left)
    if (answer !== undefined && waitMs > WAIT_MS_MAX) return answer
    await answer?.body?.cancel()
    await wait(waitMs, signal)
  }
}

function waitOf(answer: Response | undefined, retried: number): number {
  const askedSeconds = answer === undefined ? undefined : retryAfterSeconds(answer.headers)
  const own = FIRST_WAIT_MS * 2 ** retried * (0.75 + Math.random() / 2)
  return Math.max(own, (askedSeconds ?? 0) * 1_000)
}

async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), ms)
  const stop = (): void => reject(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  await promise.finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  })
}

import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { Pool } from 'undici'
import { z } from 'zod'

import { until } from './until.ts'

/** The outcome of a request at ingest. `unanswered` may have been stored or not; `duplicate` is a 200 too. */
type Answer =
  | { kind: 'accepted'; eventId: string }
  | { kind: 'duplicate' }
  | { kind: 'refused'; status: number; retryAfter: string | null }
  | { kind: 'unanswered'; error: string }

/** Times are on the monotonic clock. */
export interface Sent {
  /** Number of the event: a repeated request has the number of the first. */
  number: number
  sentAtMs: number
  answeredAtMs: number
  answer: Answer
}

/** A request of a load: `target` is appended to the source's address. */
export interface NumberedRequest {
  target: string
  headers: Record<string, string>
  body: Buffer
}

export interface LoadOptions {
  ingestUrl: string
  secret: string
  perSecond: number
  /** Requests under way at once; more wait for a connection. */
  connections?: number
  requestOf?: (number: number) => NumberedRequest
  /** The event that a request sends, by how many requests there were: itself, unless an earlier one is repeated. */
  eventOf?: (count: number) => number
}

/** A load that runs. Open loop: it sends on time, whatever the answers do. */
export interface Load extends AsyncDisposable {
  /** Resolves once so many requests are on their way. */
  reached(count: number): Promise<void>
  /** Resolves once so many more than now are on their way. */
  goesOn(count: number): Promise<void>
  /** Resolves once a request that was sent after the call is accepted. */
  accepted(timeoutMs: number): Promise<void>
  /** Sends no more. Resolves with all requests once each has its answer. */
  stop(): Promise<readonly Sent[]>
}

const CONNECTIONS = 128
const TICK_MS = 2
const REACH_MS = 120_000
/** A sender gives up then, as providers do. */
const ANSWER_MS = 10_000
const PADDING = 'x'.repeat(1_000)
const Accepted = z.union([
  z.object({ ok: z.literal(true), eventId: z.string() }),
  z.object({ ok: z.literal(true), duplicate: z.literal(true) }),
])

interface State {
  isStopped: boolean
  sending: Promise<Sent>[]
  /** When the newest of the accepted requests was sent. */
  acceptedSentAtMs: number
}

export function startLoad(options: LoadOptions): Load {
  const state: State = { isStopped: false, sending: [], acceptedSentAtMs: 0 }
  const running = run(options, state)
  const stop = async (): Promise<readonly Sent[]> => {
    state.isStopped = true
    return await running
  }
  const reached = async (count: number): Promise<void> => {
    await until(`${count} requests are sent`, () => state.sending.length >= count, REACH_MS)
  }
  return {
    reached,
    goesOn: async (count) => await reached(state.sending.length + count),
    accepted: async (timeoutMs) => {
      const askedAtMs = performance.now()
      await until('ingest accepts', () => state.acceptedSentAtMs > askedAtMs, timeoutMs)
    },
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop()
    },
  }
}

/** The request that a load sends by default: 1 KiB of JSON with its number. */
export function numbered(number: number): NumberedRequest {
  const body = Buffer.from(`{"number":${number},"type":"order.paid","padding":"${PADDING}"}`)
  return { target: '', headers: { 'content-type': 'application/json' }, body }
}

async function run(options: LoadOptions, state: State): Promise<readonly Sent[]> {
  const { ingestUrl, secret, perSecond, requestOf = numbered } = options
  const { eventOf = (count) => count, connections = CONNECTIONS } = options
  const { origin, pathname } = new URL(ingestUrl)
  await using stack = new AsyncDisposableStack()
  const pool = stack.adopt(new Pool(origin, { connections }), (one) => one.destroy())
  const sendNext = async (): Promise<Sent> => {
    const number = eventOf(state.sending.length + 1)
    const sent = await send(pool, pathname, number, signed(requestOf(number), secret))
    if (sent.answer.kind === 'accepted') state.acceptedSentAtMs = sent.sentAtMs
    return sent
  }
  const startedAt = performance.now()
  while (!state.isStopped) {
    const due = ((performance.now() - startedAt) * perSecond) / 1_000
    while (state.sending.length < due) state.sending.push(sendNext())
    await sleep(TICK_MS)
  }
  return await Promise.all(state.sending)
}

/** As the preset `github` signs. */
function signed(request: NumberedRequest, secret: string): NumberedRequest {
  const signature = createHmac('sha256', secret).update(request.body).digest('hex')
  const headers = { ...request.headers, 'x-hub-signature-256': `sha256=${signature}` }
  return { ...request, headers }
}

async function send(
  pool: Pool,
  path: string,
  number: number,
  { target, headers, body }: NumberedRequest,
): Promise<Sent> {
  const sentAtMs = performance.now()
  const answer = await ask(pool, { path: `${path}${target}`, headers, body })
  return { number, sentAtMs, answeredAtMs: performance.now(), answer }
}

async function ask(
  pool: Pool,
  request: { path: string; headers: Record<string, string>; body: Buffer },
): Promise<Answer> {
  try {
    const timeouts = { headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS }
    const { statusCode, headers, body } = await pool.request({
      ...request,
      ...timeouts,
      method: 'POST',
    })
    const text = await body.text()
    if (statusCode === 200) {
      const accepted = Accepted.parse(JSON.parse(text))
      return 'eventId' in accepted
        ? { kind: 'accepted', eventId: accepted.eventId }
        : { kind: 'duplicate' }
    }
    const retryAfter = headers['retry-after']
    return {
      kind: 'refused',
      status: statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : null,
    }
  } catch (error) {
    return { kind: 'unanswered', error: String(error) }
  }
}

import type { AttemptRequest, AttemptResponse, Transport } from '../../core/delivery/transport.ts'
import type { AllowList } from '../../core/egress/allow-list.ts'
import { openHop, type Hop } from '../../core/tracing/hop.ts'
import type { Tracing } from '../../core/tracing/tracing.ts'
import {
  Failure,
  FRAME_BYTES_MAX,
  type RequestHead,
  type ResponseHead,
  STREAM_WINDOW_BYTES,
} from '../../core/tunnel/protocol.ts'
import type { Answer, Perform } from '../tunnel/streams.ts'
import { whyUnanswered } from './explain.ts'
import type { RecentAnswers } from './recent-answers.ts'

/** A request that was made, for those who watch: metrics, log, a person. */
export interface Performed {
  head: RequestHead
  answer: Answer
  /** Undefined for one whose body was larger than is kept. */
  body: Buffer | undefined
  durationMs: number
}

interface PerformDeps {
  rules: {
    current(): AllowList
    /** Another text for other rules. */
    readonly name: string
  }
  send: Transport
  recent: RecentAnswers
  performed(done: Performed): void
  /** Undefined while traces are off. */
  tracing?: Tracing | undefined
}

type Method = AttemptRequest['method']

const METHODS: ReadonlySet<string> = new Set<Method>(['POST', 'PUT', 'PATCH'])
const NOT_DONE: Failure['phases'] = {
  dnsMs: null,
  connectMs: null,
  tlsMs: null,
  firstByteMs: null,
  totalMs: 0,
}
/** The agent's own timer ends before that of its gateway. */
const MARGIN = 0.95
const MARGIN_MS_MAX = 1_000

/** Headers that concern one connection, or that the agent says itself. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Makes requests of a gateway, so far as this agent's rules allow them. */
export function performer(deps: PerformDeps): Perform {
  return async (head, body, signal) => {
    const startedAt = performance.now()
    const hop = openHop(deps.tracing, { name: 'agent', kind: 'client' }, head)
    let kept: Buffer | undefined
    const perform = async (): Promise<Answer> => {
      const checked = check(deps, head)
      if ('failure' in checked) return checked
      const whole = head.bodyBytes <= STREAM_WINDOW_BYTES ? await wholeOf(body, signal) : body
      if (whole === undefined) return unsent('connection_reset', 'The request was given up')
      if (Buffer.isBuffer(whole)) kept = whole
      const { url, method } = checked
      const request = { ...outgoing(deps, hop?.head ?? head, checked), body: whole, signal }
      return answerOf(await deps.send({ ...request, method }), url)
    }
    const answer = await deps.recent.once(head.attemptId, perform)
    hop?.end(spanOf(head, answer))
    deps.performed({ head, answer, body: kept, durationMs: performance.now() - startedAt })
    return answer
  }
}

function spanOf(head: RequestHead, answer: Answer): Parameters<Hop['end']>[0] {
  const isAnswered = answer.kind === 'response'
  const fault = isAnswered ? undefined : answer.failure.code
  return {
    fault,
    attributes: {
      'server.address': URL.parse(head.url)?.hostname,
      'http.response.status_code': isAnswered ? answer.head.status : undefined,
      'error.type': fault,
    },
  }
}

interface Checked {
  url: URL
  method: Method
}

function check(
  { rules }: PerformDeps,
  head: RequestHead,
): Checked | Extract<Answer, { kind: 'failure' }> {
  const url = URL.parse(head.url)
  if (url === null) return unsent('internal', 'The URL cannot be read')
  if (!isMethod(head.method)) {
    return unsent('internal', `The agent makes no ${head.method} requests`)
  }
  const refusal = rules.current().refusal(url)
  return refusal === undefined
    ? { url, method: head.method }
    : unsent('host_not_allowed', `The agent refuses: ${refusal}`)
}

function isMethod(method: string): method is Method {
  return METHODS.has(method)
}

function outgoing(
  { rules }: PerformDeps,
  head: RequestHead,
  { url }: Checked,
): Omit<AttemptRequest, 'body' | 'method'> {
  const headers = head.headers.flatMap(([name, value]) =>
    NOT_FORWARDED.has(name.toLowerCase()) ? [] : [name, value],
  )
  headers.push('content-length', String(head.bodyBytes))
  return {
    // A connection that was opened under other rules is not used again.
    holder: rules.name,
    // Each origin has a look-up of its own: the rules depend on scheme, host and port.
    tenant: url.origin,
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    headers,
    timeoutMs: Math.max(head.timeoutMs * MARGIN, head.timeoutMs - MARGIN_MS_MAX),
  }
}

/** Undefined for a body that does not come to its end. */
async function wholeOf(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const giveUp = (): void => resolve(undefined)
  signal.addEventListener('abort', giveUp)
  try {
    return await Promise.race([promise, gather(body)])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

async function gather(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}

function answerOf(response: AttemptResponse, url: URL): Answer {
  const { status, headers, body, error, fault, firstByteMs, durationMs: totalMs } = response
  const phases = { ...(response.connect ?? NOT_DONE), firstByteMs, totalMs }
  if (status !== null) {
    const head = { status, headers: fitting(headers), phases }
    return { kind: 'response', head, body: body ?? Buffer.alloc(0) }
  }
  const code = codeOf(error)
  // A connection that was never open carried nothing.
  return failure(code, whyUnanswered(code, url, fault), response.connect === null, phases)
}

function codeOf(error: AttemptResponse['error']): Failure['code'] {
  if (error === 'address_blocked') return 'host_not_allowed'
  return Failure.shape.code.safeParse(error).data ?? 'internal'
}

/** Leaves room in a frame for the body that is kept, phases and the like. */
const HEADER_JSON_BYTES_MAX = FRAME_BYTES_MAX - 24 * 1024
const NAME_LENGTH_MAX = 8_192

/** As many headers as a frame holds: a destination may answer any. */
function fitting(headers: readonly [string, string][]): ResponseHead['headers'] {
  const fit: [string, string][] = []
  let room = HEADER_JSON_BYTES_MAX
  for (const header of headers) {
    room -= Buffer.byteLength(JSON.stringify(header)) + 1
    if (room < 0) break
    if (header[0].length <= NAME_LENGTH_MAX) fit.push(header)
  }
  return fit
}

const MESSAGE_LENGTH_MAX = 500

function unsent(code: Failure['code'], message: string): Extract<Answer, { kind: 'failure' }> {
  return failure(code, message, true, NOT_DONE)
}

function failure(
  code: Failure['code'],
  message: string,
  isUnsent: boolean,
  phases: Failure['phases'],
): Extract<Answer, { kind: 'failure' }> {
  return {
    kind: 'failure',
    failure: { code, message: message.slice(0, MESSAGE_LENGTH_MAX), isUnsent, phases },
  }
}

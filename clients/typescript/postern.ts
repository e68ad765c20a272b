import { PosternError } from './error.ts'
import { messagesOf, type StreamMessage } from './event-stream.ts'
import type { Input, Methods } from './method.ts'
import { OPERATIONS } from './operations.ts'
import { requestOf, type Init, type Request } from './request.ts'
import { sendAgain } from './retry.ts'

const TIMEOUT_MS = 30_000
const RETRIES = 2
/** The server sends a `ping` every 15 s. */
const SILENCE_MS = 35_000

export interface PosternOptions {
  /** Origin of the management API: `https://postern.example.com`. */
  url: string
  /** Sent as a bearer token. */
  apiKey?: string | undefined
  /** The project to act in; without it the one of the key, or the default project. */
  projectId?: string | undefined
  /** Where the operations are below `url`; `/v1` unless a session of the dashboard asks. */
  basePath?: string
  /** How long one attempt of a call may take, its answer included; 30 s. */
  timeoutMs?: number
  /** How often a call that may be repeated (GET, PUT, or with an `idempotencyKey`) is sent again; twice. */
  retries?: number
  /** Sends a request in place of the runtime's `fetch`: another CA, a proxy, a log. */
  fetch?: (url: string, init: Init) => Promise<Response>
}

export interface Postern extends Methods {
  /**
   * New events as they come, from `lastEventId` on. Ends when the server ends the stream, and throws when it falls silent:
   * call again with the `id` of the last message, and no event is missed. (GET /v1/events/stream)
   */
  readonly streamEvents: (
    input?: Input<'streamEvents'> & { lastEventId?: string | undefined },
  ) => AsyncGenerator<StreamMessage, void, undefined>
}

/** A client of one API key. A call throws a `PosternError` for an answer that is no success, and what `fetch` throws without one. */
export function openPostern(options: PosternOptions): Postern {
  const send = sender(options)
  const call = async (route: string, input: object): Promise<unknown> => {
    const request = requestOf(route, { ...input })
    const retries = request.isRepeatable ? (options.retries ?? RETRIES) : 0
    const timeoutMs = options.timeoutMs ?? TIMEOUT_MS
    const answer = await sendAgain(
      async () => await send(request, AbortSignal.timeout(timeoutMs)),
      { retries, signal: request.signal },
    )
    return await read(answer)
  }
  const methods = Object.fromEntries(
    Object.entries(OPERATIONS).map(([name, route]) => [
      name,
      async (input: object = {}) => await call(route, input),
    ]),
  )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each operation has its method, by the loop above
  return { ...(methods as unknown as Methods), streamEvents: streamer(send) }
}

type Send = (request: Request, end: AbortSignal) => Promise<Response>

function sender({ url, basePath = '/v1', apiKey, projectId, fetch }: PosternOptions): Send {
  const base = `${url.replace(/\/$/, '')}${basePath}`
  return async ({ method, path, headers, body, signal }, end) =>
    await (fetch ?? globalThis.fetch)(`${base}${path}`, {
      method,
      headers: {
        accept: 'application/json',
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
        ...(projectId !== undefined && { 'x-project-id': projectId }),
        ...headers,
      },
      body,
      signal: signal === undefined ? end : AbortSignal.any([signal, end]),
    })
}

async function read(answer: Response): Promise<unknown> {
  const text = await answer.text()
  const body = parsed(text)
  if (!answer.ok) throw new PosternError(answer.status, body, answer.headers)
  if (body === undefined && text !== '') {
    const message = 'The answer is no JSON: is this the address of a Postern API?'
    throw new PosternError(answer.status, { message }, answer.headers)
  }
  return body
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function streamer(send: Send): Postern['streamEvents'] {
  return async function* streamEvents({ lastEventId, ...input } = {}) {
    const request = requestOf('GET /events/stream', input)
    request.headers['accept'] = 'text/event-stream'
    if (lastEventId !== undefined) request.headers['last-event-id'] = lastEventId
    const silence = new AbortController()
    const end = (): void => silence.abort(new Error('The stream of events has fallen silent'))
    let timer = setTimeout(end, SILENCE_MS)
    try {
      const answer = await send(request, silence.signal)
      if (!answer.ok || answer.body === null) {
        await read(answer)
        return
      }
      for await (const message of messagesOf(answer.body)) {
        clearTimeout(timer)
        yield message
        timer = setTimeout(end, SILENCE_MS)
      }
    } finally {
      clearTimeout(timer)
    }
  }
}

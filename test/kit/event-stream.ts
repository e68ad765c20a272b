import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'

import type { Resource } from './relay.ts'

/** A message of Server-Sent Events, its data parsed. */
interface Message {
  id: string | undefined
  event: string
  data: Resource
}

/** A client of `GET /v1/events/stream` that keeps all it has heard. */
export interface Listener extends Disposable {
  status: number
  headers: IncomingMessage['headers']
  /** The whole of an answer that is no stream. */
  body: Resource
  response: IncomingMessage
  messages: Message[]
  /** The ids of the events so far, in the order they came. */
  events(): string[]
  lastId(): string | undefined
  /** Resolves with the first message of that kind, whenever it comes. */
  heard(event: string, withinMs?: number): Promise<Message>
  /** Resolves when all these events have come. */
  hears(ids: readonly string[], withinMs?: number): Promise<void>
  /** Resolves when the server has ended the answer. */
  ended(withinMs?: number): Promise<void>
}

export interface Listening {
  key: string
  query?: string
  lastEventId?: string | undefined
  headers?: Record<string, string>
  /** Reads nothing until told to. */
  isPaused?: boolean
}

const WITHIN_MS = 10_000

/** Disposing of it closes the connection, as a browser does. */
export async function listen(apiUrl: string, options: Listening): Promise<Listener> {
  const { key, query = '', lastEventId, headers = {}, isPaused = false } = options
  const sent = request(`${apiUrl}/v1/events/stream${query}`, {
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      ...headers,
    },
  })
  sent.on('error', () => undefined)
  sent.end()
  const [response]: IncomingMessage[] = await once(sent, 'response')
  if (response === undefined) throw new Error('No answer')
  const reader = new Reader(response, isPaused)
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true
  if (!isStream) await reader.until(() => response.readableEnded, 'the end', WITHIN_MS)
  const { messages } = reader
  const events = (): string[] =>
    messages.filter(({ event }) => event === 'event.created').map(({ data }) => data.id)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: isStream ? undefined : JSON.parse(reader.text),
    response,
    messages,
    events,
    lastId: () => messages.findLast(({ id }) => id !== undefined)?.id,
    heard: async (event, withinMs = WITHIN_MS) =>
      await reader.until(() => messages.find((one) => one.event === event), event, withinMs),
    hears: async (ids, withinMs = WITHIN_MS) => {
      await reader.until(() => isSubset(ids, events()), `${ids.length} events`, withinMs)
    },
    ended: async (withinMs = WITHIN_MS) => {
      await reader.until(() => response.readableEnded, 'the end', withinMs)
    },
    [Symbol.dispose]: () => {
      sent.destroy()
    },
  }
}

class Reader {
  readonly messages: Message[] = []
  readonly #response: IncomingMessage
  text = ''
  #rest = ''

  constructor(response: IncomingMessage, isPaused: boolean) {
    this.#response = response
    response.setEncoding('utf8')
    response.on('error', () => undefined)
    response.on('data', (chunk: string) => this.#read(chunk))
    if (isPaused) response.pause()
  }

  /** Looks again whenever something has come. */
  async until<T>(look: () => T | undefined | false, what: string, withinMs: number): Promise<T> {
    const signal = AbortSignal.timeout(withinMs)
    for (;;) {
      const found = look()
      if (found !== undefined && found !== false) return found
      if (signal.aborted || this.#response.closed) {
        const seen = this.messages.map(({ event }) => event)
        throw new Error(`Waited for ${what} and heard ${JSON.stringify(seen).slice(0, 500)}`)
      }
      await this.#next(signal)
    }
  }

  async #next(signal: AbortSignal): Promise<void> {
    const changed = new AbortController()
    const either = AbortSignal.any([signal, changed.signal])
    const waits = ['data', 'end', 'close'].map((event) =>
      once(this.#response, event, { signal: either }).catch(() => undefined),
    )
    await Promise.race(waits)
    changed.abort()
  }

  #read(chunk: string): void {
    this.text += chunk
    const parts = (this.#rest + chunk).split('\n\n')
    this.#rest = parts.pop() ?? ''
    for (const part of parts) {
      const fields = new Map(
        part.split('\n').map((line): [string, string] => {
          const colon = line.indexOf(': ')
          return [line.slice(0, colon), line.slice(colon + 2)]
        }),
      )
      const event = fields.get('event')
      if (event === undefined) continue
      const data = JSON.parse(fields.get('data') ?? 'null')
      this.messages.push({ id: fields.get('id'), event, data })
    }
  }
}

function isSubset(ids: readonly string[], of: readonly string[]): boolean {
  const all = new Set(of)
  return ids.every((id) => all.has(id))
}

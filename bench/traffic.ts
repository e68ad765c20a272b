import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

import { compileMac, type Mac } from '../core/mac.ts'

/**
 * A load generator and a destination in one process, over raw sockets: each costs a fifth of an HTTP library, so that
 * what is measured is the relay. Events carry their number; times are taken on one monotonic clock.
 *
 * At a fixed rate the clock runs from the moment at which a request was due, not from when it was sent: a generator
 * that waits for answers would hide every queue it causes.
 */
export interface Target {
  url: URL
  secret: string
  bodyBytes: number
  /** Tells the events of one run from another's, so that none is a duplicate. */
  run?: number
  /** Paths of the sources that events go to in turn, if there are several. */
  paths?: readonly string[]
  /** Ports of the ingest processes that connections are spread over, if there are several. */
  ports?: readonly number[]
}

const NUMBER_DIGITS = 10
const NUMBER_PREFIX = '{"number":"'

/** Milliseconds for each numbered event; NaN where something has not happened. */
export class Journal {
  readonly due: number[] = []
  readonly answered: number[] = []
  readonly delivered: number[] = []
  /** Arrivals of each event so far. */
  readonly arrivals: number[] = []
  /** Events that were answered with another status, or not at all. */
  readonly notAccepted = new Set<number>()
  accepted = 0
  refused = 0
  arrived = 0
  duplicates = 0
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** A destination that notes each arrival and answers 200, at once unless it is told to take its time. */
export async function openSink(onArrival: (number: number) => void, answerAfterMs = 0) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    readMessages(socket, (body) => {
      if (answerAfterMs === 0) socket.write(OK)
      else setTimeout(() => socket.write(OK), answerAfterMs)
      onArrival(numberIn(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('Cannot listen')
  return {
    url: `http://127.0.0.1:${address.port}/`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const RECONNECT_MS = 20

/**
 * Keep-alive connections that post signed events, one at a time each. A connection that ends fails its request, which is
 * not sent again, and is opened again.
 */
export class Senders {
  readonly #target: Target
  readonly #idle: Socket[] = []
  readonly #waiting: { number: number; onAnswer: (isAccepted: boolean) => void }[] = []
  readonly #underway = new Map<Socket, (isAccepted: boolean) => void>()
  readonly #sockets = new Set<Socket>()
  readonly #filler: string
  readonly #mac: Mac
  #isClosed = false

  constructor(target: Target) {
    this.#target = target
    this.#mac = compileMac('sha256', Buffer.from(target.secret))
    const fixed = NUMBER_PREFIX.length + NUMBER_DIGITS + '","filler":""}'.length
    this.#filler = 'x'.repeat(Math.max(0, target.bodyBytes - fixed))
  }

  async open(connections: number): Promise<void> {
    const { url, ports = [Number(url.port)] } = this.#target
    for (let n = 0; n < connections; n++) {
      await once(this.#connect(ports[n % ports.length] ?? 0), 'connect')
    }
  }

  /** Sends when a connection is free. */
  send(number: number, onAnswer: (isAccepted: boolean) => void): void {
    const socket = this.#idle.pop()
    if (socket === undefined) this.#waiting.push({ number, onAnswer })
    else this.#write(socket, number, onAnswer)
  }

  close(): void {
    this.#isClosed = true
    for (const socket of this.#sockets) socket.destroy()
  }

  #connect(port: number): Socket {
    const socket = connect(port, this.#target.url.hostname)
    socket.setNoDelay(true)
    this.#sockets.add(socket)
    readMessages(socket, (_body, status) => this.#finish(socket, status === 200))
    socket.on('connect', () => this.#sendNext(socket))
    socket.on('error', () => {}) // Its end follows.
    socket.on('close', () => this.#lose(socket, port))
    return socket
  }

  #lose(socket: Socket, port: number): void {
    this.#sockets.delete(socket)
    const at = this.#idle.indexOf(socket)
    if (at !== -1) this.#idle.splice(at, 1)
    const onAnswer = this.#underway.get(socket)
    this.#underway.delete(socket)
    if (this.#isClosed) return
    onAnswer?.(false)
    setTimeout(() => {
      if (!this.#isClosed) this.#connect(port)
    }, RECONNECT_MS)
  }

  #write(socket: Socket, number: number, onAnswer: (isAccepted: boolean) => void): void {
    this.#underway.set(socket, onAnswer)
    const { url, run = 0, paths = [url.pathname] } = this.#target
    const path = paths[number % paths.length]
    const digits = String(number).padStart(NUMBER_DIGITS, '0')
    const body = `${NUMBER_PREFIX}${digits}","filler":"${this.#filler}"}`
    const signature = this.#mac([body]).toString('hex')
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/json\r\n` +
        `user-agent: GitHub-Hookshot/bench\r\nx-github-event: push\r\nx-github-delivery: ${run}-${digits}\r\n` +
        `x-hub-signature-256: sha256=${signature}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    )
  }

  #finish(socket: Socket, isAccepted: boolean): void {
    const onAnswer = this.#underway.get(socket)
    this.#underway.delete(socket)
    onAnswer?.(isAccepted)
    this.#sendNext(socket)
  }

  #sendNext(socket: Socket): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(socket)
    else this.#write(socket, next.number, next.onAnswer)
  }
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** Cuts a stream of HTTP messages with a content-length into bodies. */
function readMessages(socket: Socket, onMessage: (body: Buffer, status: number) => void): void {
  let chunks: Buffer[] = []
  let held = 0
  /** Bytes to wait for before parsing again: a large body comes in many pieces. */
  let wanted = 0
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    held += chunk.length
    if (held < wanted) return
    let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks)
    for (;;) {
      const message = firstMessage(rest)
      wanted = message.end
      if (message.body === undefined) break
      rest = rest.subarray(message.end)
      onMessage(message.body, message.status)
    }
    chunks = rest.length === 0 ? [] : [rest]
    held = rest.length
  })
}

/** The body is undefined until all of it has come; `end` is where it ends, as far as that is known. */
function firstMessage(bytes: Buffer): { body: Buffer | undefined; end: number; status: number } {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd === -1) return { body: undefined, end: 0, status: 0 }
  const head = bytes.toString('latin1', 0, headEnd)
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  const from = headEnd + HEAD_END.length
  const end = from + length
  const body = bytes.length < end ? undefined : bytes.subarray(from, end)
  return { body, end, status: Number(head.slice(9, 12)) }
}

function numberIn(body: Buffer): number {
  const from = NUMBER_PREFIX.length
  return Number(body.toString('latin1', from, from + NUMBER_DIGITS))
}

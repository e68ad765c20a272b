import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type SecureContext } from 'node:tls'
import { callbackify } from 'node:util'

/** Below the time-outs of what is sent through the proxy, so that a silent proxy is named as such. */
const CONNECT_TIMEOUT_MS = 8_000
const HEAD_BYTES_MAX = 16 * 1024
const HTTP_PORT = 80
const HTTPS_PORT = 443

/** Why there is no way through a proxy: the status that it answered, or the error of the connection to it as the cause. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
  readonly proxy: URL
  readonly status: number | undefined

  constructor(proxy: URL, { status, cause }: { status?: number; cause?: unknown }) {
    super(`The proxy ${proxy.host} does not connect`, { cause })
    this.proxy = proxy
    this.status = status
  }
}

export function isSecure({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'wss:'
}

export function portOf(url: URL): number {
  return Number(url.port || (isSecure(url) ? HTTPS_PORT : HTTP_PORT))
}

type Callback = (error: Error | null, socket: Duplex) => void

/** Opens each connection through a proxy that takes CONNECT, TLS from end to end. */
export class ConnectAgent {
  readonly #proxy: URL
  readonly #secureContext: SecureContext | undefined
  readonly #credentials: string

  /** Throws for a user or a password that cannot be decoded. */
  constructor(proxy: URL, secureContext: SecureContext | undefined) {
    this.#proxy = proxy
    this.#secureContext = secureContext
    this.#credentials = credentialsOf(proxy)
  }

  for(url: URL): HttpAgent {
    const agent = isSecure(url) ? new HttpsAgent() : new HttpAgent()
    const open = callbackify(async () => await this.#open(url))
    Object.assign(agent, {
      createConnection: (_options: object, callback: Callback) => open(callback),
    })
    return agent
  }

  async #open(url: URL): Promise<Duplex> {
    const target = `${url.hostname}:${portOf(url)}`
    const socket = this.#dial()
    try {
      socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${this.#credentials}\r\n`)
      const status = await answerOf(socket)
      if (status < 200 || status > 299) throw new ProxyError(this.#proxy, { status })
      return isSecure(url) ? this.#secured(socket, url) : socket
    } catch (cause) {
      socket.destroy()
      throw cause instanceof ProxyError ? cause : new ProxyError(this.#proxy, { cause })
    }
  }

  #dial(): Socket {
    const host = this.#proxy.hostname.replace(/^\[|\]$/g, '')
    const port = portOf(this.#proxy)
    return isSecure(this.#proxy)
      ? connectTls({ host, port, ...named(host), ...this.#trusted() })
      : connectTcp({ host, port })
  }

  #secured(socket: Socket, { hostname }: URL): Socket {
    const host = hostname.replace(/^\[|\]$/g, '')
    return connectTls({
      socket,
      host,
      ...named(host),
      ALPNProtocols: ['http/1.1'],
      ...this.#trusted(),
    })
  }

  #trusted(): { secureContext?: SecureContext } {
    return this.#secureContext === undefined ? {} : { secureContext: this.#secureContext }
  }
}

/** An address is no name to ask for. */
function named(host: string): { servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {}
}

function credentialsOf({ username, password }: URL): string {
  if (username === '') return ''
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `proxy-authorization: Basic ${Buffer.from(user).toString('base64')}\r\n`
}

/** Resolves with the status of the answer to CONNECT; what follows its head stays in the socket. */
async function answerOf(socket: Socket): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  // The socket may fail later as well, when its user listens.
  socket.on('error', reject)
  socket.once('close', () => reject(fault('ECONNRESET', 'The proxy closed the connection')))
  const timer = setTimeout(
    () => reject(fault('ETIMEDOUT', 'The proxy does not answer')),
    CONNECT_TIMEOUT_MS,
  )
  let head = Buffer.alloc(0)
  const take = (): void => {
    const chunk: unknown = socket.read()
    if (!Buffer.isBuffer(chunk)) return
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    const [, status] = /^HTTP\/1\.\d (\d{3})\b/.exec(head.toString('latin1')) ?? []
    if (end === -1) {
      const isHttp = 'HTTP/1.'.startsWith(head.toString('latin1', 0, 'HTTP/1.'.length))
      if (!isHttp || head.length > HEAD_BYTES_MAX) reject(fault('NO_HTTP', 'No answer of a proxy'))
      return
    }
    socket.off('readable', take)
    const rest = head.subarray(end + '\r\n\r\n'.length)
    if (rest.length > 0) socket.unshift(rest)
    if (status === undefined) reject(fault('NO_HTTP', 'No answer of a proxy'))
    else resolve(Number(status))
  }
  socket.on('readable', take)
  return await promise.finally(() => clearTimeout(timer))
}

function fault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type SecureContext } from 'node:tls'
import { callbackify } from 'node:util'

interface Options {
  /** A CONNECT proxy; undefined dials directly. */
  proxy: string | undefined
  /** Hosts that are dialled without the proxy, as NO_PROXY lists them. */
  noProxy: string
  secureContext: SecureContext | undefined
}

const CONNECT_TIMEOUT_MS = 10_000
const HEAD_BYTES_MAX = 16 * 1024
const HTTP_PORT = 80
const HTTPS_PORT = 443

/** How relay and gateway are reached: the agent to make a request to this URL with. */
export type Reach = (url: URL) => HttpAgent

/** Destinations are never reached this way: a proxy would resolve their names, and the addresses would be unchecked. */
export function openReach({ proxy, noProxy, secureContext }: Options): Reach {
  const plain = new HttpAgent({ keepAlive: true })
  const secure = new HttpsAgent({ keepAlive: true, ...(secureContext && { secureContext }) })
  if (proxy === undefined) return (url) => (isSecure(url) ? secure : plain)
  const proxied = new ConnectAgent(new URL(proxy), secureContext)
  return (url) => {
    if (!isExempt(url, noProxy)) return proxied.for(url)
    return isSecure(url) ? secure : plain
  }
}

/** NO_PROXY: names, domains with all below them, addresses, each with or without a port, or `*`. */
export function isExempt(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const port = url.port === '' ? (isSecure(url) ? HTTPS_PORT : HTTP_PORT) : Number(url.port)
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((item) => item !== '')
    .some((item) => {
      if (item === '*') return true
      const [, bare = item, itsPort] =
        /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(isIP(item) === 6 ? `[${item}]` : item) ?? []
      if (itsPort !== undefined && Number(itsPort) !== port) return false
      const domain = bare.replace(/^\*?\./, '')
      return host === domain || (isIP(host) === 0 && host.endsWith(`.${domain}`))
    })
}

function isSecure({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'wss:'
}

/** The proxy refused to connect. */
class ProxyRefused extends Error {
  override readonly name = 'ProxyRefused'
  readonly code = 'PROXY_REFUSED'
}

type Callback = (error: Error | null, socket: Duplex) => void

/** Opens each connection through the proxy, TLS from end to end. */
class ConnectAgent {
  readonly #proxy: URL
  readonly #secureContext: SecureContext | undefined

  constructor(proxy: URL, secureContext: SecureContext | undefined) {
    this.#proxy = proxy
    this.#secureContext = secureContext
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
    const port = url.port === '' ? (isSecure(url) ? HTTPS_PORT : HTTP_PORT) : Number(url.port)
    const socket = await this.#tunnel(`${url.hostname}:${port}`)
    if (!isSecure(url)) return socket
    const servername = url.hostname.replace(/^\[|\]$/g, '')
    return connectTls({
      socket,
      ...(isIP(servername) === 0 ? { servername } : { host: servername }),
      ALPNProtocols: ['http/1.1'],
      ...(this.#secureContext && { secureContext: this.#secureContext }),
    })
  }

  /** Resolves when the proxy has connected. */
  async #tunnel(target: string): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    const { hostname, port, protocol, username, password } = this.#proxy
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket =
      protocol === 'https:'
        ? connectTls({
            host,
            port: Number(port || HTTPS_PORT),
            servername: isIP(host) === 0 ? host : '',
          })
        : connectTcp({ host, port: Number(port || HTTP_PORT) })
    const fail = (error: Error): void => {
      socket.destroy()
      reject(error)
    }
    const timer = setTimeout(
      () => fail(new ProxyRefused('The proxy does not answer')),
      CONNECT_TIMEOUT_MS,
    )
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    const credentials =
      username === ''
        ? ''
        : `proxy-authorization: Basic ${Buffer.from(user).toString('base64')}\r\n`
    socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${credentials}\r\n`)
    let head = ''
    const take = (): void => {
      const chunk: unknown = socket.read()
      if (!Buffer.isBuffer(chunk)) return
      head += chunk.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end === -1) {
        if (head.length > HEAD_BYTES_MAX) fail(new ProxyRefused('The proxy sent no answer'))
        return
      }
      socket.off('readable', take)
      const [line = ''] = head.split('\r\n', 1)
      if (!/^HTTP\/1\.\d 2\d\d/.test(line)) {
        return fail(new ProxyRefused(`The proxy answered "${line.slice(0, 100)}"`))
      }
      const rest = head.slice(end + '\r\n\r\n'.length)
      if (rest !== '') socket.unshift(Buffer.from(rest, 'latin1'))
      resolve(socket)
    }
    socket.on('readable', take)
    socket.once('error', fail)
    socket.once('close', () => fail(new ProxyRefused('The proxy closed the connection')))
    return await promise.finally(() => clearTimeout(timer))
  }
}

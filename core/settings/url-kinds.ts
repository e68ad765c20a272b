import { z } from 'zod'

import { databaseHostsOf, databaseUrlsOf } from '../urls/database-urls.ts'
import { natsUrlsOf } from '../urls/nats-urls.ts'
import { fileFault } from './file-kinds.ts'
import { refuse } from './setting-kinds.ts'

const DATABASE_EXAMPLE = 'postgres://user:password@host/database'
const DATABASES_EXAMPLE = 'postgres://user:password@a:5432,b:5432/database'
const NATS_EXAMPLE = 'nats://user:password@host:4222'
const SMTP_EXAMPLE = 'smtp://user:password@host:587'
const PROXY_EXAMPLE = 'http://user:password@proxy.internal:3128'
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
/** Roles write, so each of them finds the one host that takes writes. */
const SESSION_ATTRS = ['read-write', 'primary', 'any']
/** A new connection tries each of them within one time-out. */
const DATABASE_HOSTS_MAX = 8
const PORT_MAX = 65_535

/**
 * The address of a PostgreSQL, as it is given; or those of several servers, as libpq writes them:
 * `postgres://user@a:5432,b:5432/database`. Files that it names (sslrootcert) must be there.
 */
export const databaseUrl = z.string().transform((text, context) => {
  const isCut = /^[^/]*\/\/[^/?#]*[/?#].*[@#]/s.test(text)
  const fault =
    (isCut ? undefined : hostsFault(databaseHostsOf(text))) ??
    databaseUrlsOf(text)
      .map(databaseUrlFault)
      .find((each) => each !== undefined)
  return fault === undefined ? text : refuse(context, fault)
})

function databaseUrlFault(text: string, _index: number, { length }: string[]): string | undefined {
  const url = URL.parse(text)
  return (
    serverUrlFault(url, text, { schemes: ['postgres', 'postgresql'], example: DATABASE_EXAMPLE }) ??
    (url === null ? undefined : (queryHostFault(url, length) ?? databaseFault(url)))
  )
}

const HOST = /^(?:\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/

/** The fault of a list; a single host has the rules of a URL. It shows no host, which may be a part of a password. */
function hostsFault(hosts: readonly string[]): string | undefined {
  if (hosts.length < 2) return undefined
  if (hosts.length > DATABASE_HOSTS_MAX) return `must name at most ${DATABASE_HOSTS_MAX} hosts`
  const wrong = hosts.findIndex((host) => {
    const [found, hostPort] = HOST.exec(host) ?? []
    return found === undefined || (hostPort !== undefined && !isPort(Number(hostPort)))
  })
  if (wrong === -1) return undefined
  return hosts[wrong] === ''
    ? `has an empty host in its list: ${DATABASES_EXAMPLE}`
    : `must name hosts with a port from 1 to ${PORT_MAX}, or none: number ${wrong + 1} of its list is no such host`
}

/** A host of the query is that of a socket, or of one server; it takes the place of the host before. */
function queryHostFault({ searchParams }: URL, hosts: number): string | undefined {
  const host = searchParams.get('host') ?? ''
  if (host.includes(',')) return `names its hosts in its query: write ${DATABASES_EXAMPLE}`
  const isTwice = hosts > 1 && (host !== '' || searchParams.has('port'))
  return isTwice ? 'names hosts before the database, and a host or a port in its query' : undefined
}

/**
 * The address of a NATS server, with or without credentials, as it is given; or those of several servers of a cluster, with
 * commas between them.
 */
export const natsUrl = z.string().transform((text, context) => {
  const fault = natsUrlsOf(text)
    .map(natsFault)
    .find((each) => each !== undefined)
  const differing = fault === undefined ? differingFault(natsUrlsOf(text)) : undefined
  const found = fault ?? differing
  return found === undefined ? text : refuse(context, found)
})

function natsFault(text: string): string | undefined {
  const url = URL.parse(text)
  return (
    serverUrlFault(url, text, { schemes: ['nats', 'tls'], example: NATS_EXAMPLE }) ??
    (url === null ? undefined : endFault(url, NATS_EXAMPLE))
  )
}

/** A client signs in everywhere in one way. */
function differingFault(texts: readonly string[]): string | undefined {
  const [first, ...rest] = texts.map((text) => new URL(text))
  const differs = rest.some(
    ({ protocol, username, password }) =>
      protocol !== first?.protocol || username !== first.username || password !== first.password,
  )
  return differs ? 'must name the same scheme, user and password for all servers' : undefined
}

/** The server that mail is sent through, as it is given. */
export const smtpUrl = z.string().transform((text, context) => {
  const url = URL.parse(text)
  const fault =
    serverUrlFault(url, text, { schemes: ['smtp', 'smtps'], example: SMTP_EXAMPLE }) ??
    (url === null ? undefined : smtpFault(url))
  return fault === undefined ? text : refuse(context, fault)
})

/** The address of a proxy that takes CONNECT, as it is given. */
export const proxyUrl = z.string().transform((text, context) => {
  const url = URL.parse(text)
  const fault =
    serverUrlFault(url, text, { schemes: ['http', 'https'], example: PROXY_EXAMPLE }) ??
    (url === null ? undefined : endFault(url, PROXY_EXAMPLE))
  return fault === undefined ? text : refuse(context, fault)
})

function serverUrlFault(
  url: URL | null,
  text: string,
  { schemes, example }: { schemes: readonly string[]; example: string },
): string | undefined {
  if (url === null || /[\s\p{Cc}]/u.test(text) || isCutShort(url)) {
    return `must be a URL such as ${example}; /, @, #, ? and % in a password are written as %2F, %40, %23, %3F and %25`
  }
  if (!schemes.includes(url.protocol.slice(0, -1))) {
    return `must begin with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`
  }
  if (!canDecode(url.username) || !canDecode(url.password)) {
    return 'has a % in its user or password that is no escape: write it as %25'
  }
  if (!canDecode(url.host)) return 'has a % in its host that is no escape'
  if (url.username === '' && url.password !== '') return `has a password and no user: ${example}`
  return url.port === '0' ? 'must name a port from 1 to 65535, or none' : undefined
}

function endFault(url: URL, example: string): string | undefined {
  if (url.hostname === '') return `must name a host: ${example}`
  if (/^\/?$/.test(url.pathname) && url.search === '' && url.hash === '') return undefined
  return 'must end after the host and the port'
}

function smtpFault(url: URL): string | undefined {
  if (url.hostname === '') return `must name a host: ${SMTP_EXAMPLE}`
  if (/^\/?$/.test(url.pathname) && /^(?:\?tls=required)?$/.test(url.search) && url.hash === '') {
    return undefined
  }
  return 'must end after the host and the port, save for ?tls=required'
}

/** pg ignores a wrong member, or waits for ever. */
function databaseFault(url: URL): string | undefined {
  if (!canDecode(url.pathname)) {
    return 'has a % in the name of its database that is no escape: write it as %25'
  }
  const { sslmode, port, target_session_attrs, ...rest } = Object.fromEntries(url.searchParams)
  if (sslmode !== undefined && !SSL_MODES.includes(sslmode)) {
    return `has an unknown sslmode: it must be one of ${SSL_MODES.join(', ')}`
  }
  if (target_session_attrs !== undefined && !SESSION_ATTRS.includes(target_session_attrs)) {
    return `has a target_session_attrs that does not fit: Postern writes, so it must be one of ${SESSION_ATTRS.join(', ')}`
  }
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && isPort(Number(port)))) {
    return `has a port in its query that is none: it must be from 1 to ${PORT_MAX}`
  }
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = rest[name]
    const fault = path === undefined || path === '' ? undefined : fileFault(path)
    if (fault !== undefined) return `names the ${name} ${JSON.stringify(path)}: ${fault}`
  }
  // Without one pg throws, and libpq would trust nobody.
  const isUnverifiable =
    sslmode === 'verify-ca' && rest['uselibpqcompat'] === 'true' && !rest['sslrootcert']
  return isUnverifiable ? 'needs an sslrootcert for sslmode=verify-ca' : undefined
}

function isPort(number: number): boolean {
  return number >= 1 && number <= PORT_MAX
}

/** `https://relay.example.com`: what comes before the path, in the form that URLs are compared in. */
export const origin = originOf(/^https?:$/, 'https://relay.example.com')

/** The same of the gateway, as agents dial it: `wss://gateway.example.com`. */
export const gatewayOrigin = originOf(/^(?:https?|wss?):$/, 'wss://gateway.example.com').transform(
  (text) => text.replace(/^http/, 'ws'),
)

function originOf(schemes: RegExp, example: string) {
  return z.string().transform((text, context) => {
    const url = URL.parse(text)
    if (url === null || !schemes.test(url.protocol)) {
      return refuse(context, `must be an origin such as ${example}`)
    }
    if (url.username !== '' || url.password !== '') {
      return refuse(context, 'must hold no user and no password')
    }
    const plain = `${url.protocol}//${url.host}`
    if (!/^\/*$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
      return refuse(context, `must end after the host and the port: ${plain}`)
    }
    return plain
  })
}

/** An OpenID Connect provider, as it names itself. Only on this machine it may go without TLS. */
export const issuer = z.string().transform((text, context) => {
  const url = URL.parse(text)
  const isHere = url !== null && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (url?.protocol !== 'https:' && !(url?.protocol === 'http:' && isHere)) {
    return refuse(context, 'must be a URL such as https://login.example.com')
  }
  if (url.username !== '' || url.password !== '') {
    return refuse(context, 'must hold no user and no password')
  }
  const isWhole = url.search === '' && url.hash === '' && !url.pathname.includes('/.well-known/')
  return isWhole ? text : refuse(context, 'must end before /.well-known, a query or a fragment')
})

/** A URL without what may be secret in it: password, query. Undefined when it cannot be told what is. */
export function withoutSecrets(text: string): string | undefined {
  const urls = natsUrlsOf(text)
  const hosts = databaseHostsOf(text)
  if (urls.length === 1 && hosts.length > 1) {
    return plainOf(databaseUrlsOf(text)[0] ?? '', hosts.join(','))
  }
  const plain = urls.map((url) => plainOf(url))
  return plain.includes(undefined) ? undefined : plain.join(',')
}

function plainOf(text: string, hosts?: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || url.host === '' || isCutShort(url)) return undefined
  const credentials = url.username === '' && url.password === '' ? '' : '***@'
  return `${url.protocol}//${credentials}${hosts ?? url.host}${url.pathname}`
}

/** Whether a /, ? or # in the password ended the host: the rest of the password stands behind it. */
function isCutShort({ pathname, search, hash }: URL): boolean {
  return hash !== '' || `${pathname}${search}`.includes('@')
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

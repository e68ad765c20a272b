import type { Failure } from '../../core/tunnel/protocol.ts'
import { isSecure, portOf, ProxyError } from '../relay/connect-agent.ts'

/** An error of a connection to relay or gateway, in words that say what to do. */
export function whyUnreachable(error: Error, url: URL): string {
  if (error instanceof ProxyError) return whyNoWay(error, placeOf(url))
  const code = codeOf(error)
  const place = placeOf(url)
  const known = WORDS[code]
  if (known !== undefined) return known(place, url)
  if (isNoTls(error)) {
    return `${place} does not speak TLS: the address begins with ${url.protocol}//, and ${plainScheme(url)}// may be meant`
  }
  return `${place} cannot be reached: ${error.message || code}`
}

/** Why a proxy did not connect to a place: its own answer, or why there is none. */
function whyNoWay({ proxy, status, cause }: ProxyError, place: string): string {
  const name = `the proxy ${placeOf(proxy)}`
  if (status !== undefined) {
    const words = REFUSALS[status] ?? (status < 500 ? NO_CONNECT : OUT_OF_REACH)
    return words(name, place, proxy, status)
  }
  const error = cause instanceof Error ? cause : new Error(String(cause))
  const code = codeOf(error)
  const known = PROXY_WORDS[code] ?? WORDS[code]
  if (known !== undefined) return known(name, proxy)
  return isNoTls(error)
    ? `${name} does not speak TLS: --proxy begins with https://, and http:// may be meant`
    : `${name} cannot be reached: ${error.message || code}`
}

/** A proxy answered CONNECT with a status. */
type Answered = (proxy: string, place: string, url: URL, status: number) => string

const REFUSALS: Readonly<Record<number, Answered>> = {
  403: (proxy, place) =>
    `${proxy} forbids connections to ${place} (403): have it allow them, or name the host in NO_PROXY`,
  407: (proxy, _place, { username }) =>
    username === ''
      ? `${proxy} wants a user and a password (407): give them in POSTERN_PROXY`
      : `${proxy} does not take the user and the password of POSTERN_PROXY (407)`,
}

const NO_CONNECT: Answered = (proxy, place, _url, status) =>
  `${proxy} does not connect to ${place} (${status}): check that --proxy names a proxy that takes CONNECT, or name the host in NO_PROXY`
const OUT_OF_REACH: Answered = (proxy, place, _url, status) =>
  `${proxy} does not reach ${place} (${status}): check the address, and the way of the proxy to it, or name the host in NO_PROXY`

/** The cause of a `tls_error` of a destination, and its remedy. */
function whyNoTls(place: string, url: URL, fault: unknown): string {
  const code = fault instanceof Error ? codeOf(fault) : ''
  const words = CERTIFICATE_WORDS[code]
  if (words === untrusted) {
    return `the certificate of ${place} comes from an authority that this agent does not trust: give the authority's certificate with --destination-ca-file (DESTINATION_CA)`
  }
  if (words !== undefined) return words(place, url)
  if (fault instanceof Error && isNoTls(fault)) {
    return `${place} does not speak TLS: the address begins with https://, and http:// may be meant`
  }
  return `${place} ended the handshake of TLS${code === '' ? '' : ` (${code})`}: it may speak another version, want a client certificate (CLIENT_CERT), or speak no TLS`
}

/** undici names the error of its parser so. */
function isNoHttp(fault: unknown): boolean {
  return fault instanceof Error && fault.name === 'HTTPParserError'
}

type Words = (place: string, url: URL) => string

const untrusted: Words = (place) =>
  `the certificate of ${place} comes from an authority that this machine does not trust. Give the authority's certificate with --ca-file`
const nothingListens: Words = (place) =>
  `nothing listens at ${place}: check the address, and that the relay runs`
const silent: Words = (place) =>
  `${place} does not answer: check the address, and whether a firewall or a proxy (--proxy) stands between`
const unknownName: Words = (_place, { hostname }) =>
  `the name ${hostname} is not known: check the address and this machine's DNS`
const hungUp: Words = (place, url) =>
  isSecure(url)
    ? `${place} closed the connection`
    : `${place} closed the connection: if it speaks TLS, the address begins with ${url.protocol.replace(':', 's:')}//`

const CERTIFICATE_WORDS: Readonly<Record<string, Words>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: (place) =>
    `the certificate of ${place} is for another name: use the name that it is for`,
  CERT_HAS_EXPIRED: (place) =>
    `the certificate of ${place} is past its end by this machine's clock, which says ${now()}: check the clock, then the certificate`,
  CERT_NOT_YET_VALID: (place) =>
    `the certificate of ${place} is not valid yet by this machine's clock, which says ${now()}: check the clock`,
}

const WORDS: Readonly<Record<string, Words>> = {
  ECONNREFUSED: nothingListens,
  ENOTFOUND: unknownName,
  EAI_AGAIN: (_place, { hostname }) =>
    `the name ${hostname} cannot be looked up now: check this machine's DNS`,
  ETIMEDOUT: silent,
  ABORT_ERR: silent,
  EHOSTUNREACH: (place) => `there is no way to ${place}: check the network`,
  ENETUNREACH: (place) => `there is no way to ${place}: check the network`,
  ECONNRESET: hungUp,
  ...CERTIFICATE_WORDS,
}

/** Errors of a connection to the proxy, where a relay has other advice. */
const PROXY_WORDS: Readonly<Record<string, Words>> = {
  ECONNREFUSED: (place) => `nothing listens at ${place}: check --proxy, and that the proxy runs`,
  ENOTFOUND: (_place, { hostname }) =>
    `the name ${hostname} of the proxy is not known: check --proxy and this machine's DNS`,
  EAI_AGAIN: (_place, { hostname }) =>
    `the name ${hostname} of the proxy cannot be looked up now: check this machine's DNS`,
  ETIMEDOUT: (place) => `${place} does not answer: check --proxy, and that the proxy runs`,
  ECONNRESET: (place) =>
    `${place} closed the connection before it answered: check --proxy, and whether it speaks TLS (https://)`,
  NO_HTTP: (place) => `${place} does not answer as an HTTP proxy does: check --proxy`,
}

/** Why a request to a destination has no answer, in words that say where to look. */
export function whyUnanswered(code: Failure['code'], url: URL, fault: unknown): string {
  const place = placeOf(url)
  switch (code) {
    case 'connection_refused':
      return `nothing listens at ${place}`
    case 'connection_reset':
      return isNoHttp(fault)
        ? `${place} answers, but not with HTTP: check the scheme and the port`
        : `${place} closed the connection before it answered`
    case 'dns_error':
      return `the name ${url.hostname} is not known to this machine`
    case 'host_unreachable':
      return `there is no way to ${place}`
    case 'tls_error':
      return whyNoTls(place, url, fault)
    case 'timeout':
      return `${place} did not answer in time`
    case 'response_too_large':
      return `the headers of the answer of ${place} are too large`
    case 'host_not_allowed':
      return `The agent refuses: no --allow rule opens an address of ${url.hostname}`
    case 'refused':
    case 'internal':
      return fault instanceof Error ? fault.message : 'Internal error'
  }
}

function placeOf(url: URL): string {
  return `${url.hostname}:${portOf(url)}`
}

function now(): string {
  return new Date().toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)
}

function codeOf(error: Error): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error)
    return codeOf(error.errors[0])
  const own = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (error.name === 'TimeoutError' || /handshake has timed out/.test(error.message))
    return 'ETIMEDOUT'
  // The signal of a time-out aborts a request with that as its cause.
  if (own === 'ABORT_ERR') return 'ETIMEDOUT'
  return error.message === 'socket hang up' ? 'ECONNRESET' : own
}

/** An answer to the hello of TLS that is none of TLS. */
function isNoTls({ message }: Error): boolean {
  return /wrong version number|packet length too long/i.test(message)
}

function plainScheme({ protocol }: URL): string {
  return protocol.replace('s:', ':')
}

interface Refused {
  status: number
  code: string
  message: string
  location?: string | undefined
}

/** Why a relay did not enrol this agent, in words that say what to do. */
export function whyNotEnrolled(refused: Refused, relay: string, instanceName: string): string {
  const { status, code, message, location } = refused
  if (code === '') {
    if (location !== undefined && status >= 300 && status < 400) {
      return `${relay} sends its callers on to ${location}: give the address of the relay's API itself`
    }
    return `${relay} is no API of a Postern relay (it answers ${status}): check --relay`
  }
  if (status === 401) {
    return `the relay at ${relay} does not know the enrolment key: it may have been made anew, its connector deleted, or the key be another relay's. Make one with regenerate-enrollment`
  }
  if (code === 'REPLICA_LIMIT_REACHED') {
    return `the connector has as many replicas as its plan allows: revoke one, or wait until one that is offline is forgotten`
  }
  if (code === 'CONFLICT') {
    return `a replica with the name "${instanceName}" is connected: give this one its own with --name`
  }
  if (status === 404 || status === 405) {
    return `${relay} answers and has no connectors (${status} ${code}): check --relay`
  }
  return `the relay refuses: ${message} (${status} ${code})`
}

/** Why a gateway opened no session, in words that say who refused. */
export function whyNotConnected({ status, code, message }: Refused, gateway: string): string {
  if (code === '') {
    return `Cannot connect: ${gateway} is no gateway of a Postern relay (it answers ${status})`
  }
  if (status === 426) {
    return `Cannot connect: the request reached the gateway at ${gateway} as none for a WebSocket (426), so that a proxy on the way is likely to drop the header Upgrade: have it pass Upgrade and Connection on over HTTP/1.1`
  }
  return status === 429 || status === 503
    ? `Cannot connect yet: ${message} (${status} ${code})`
    : `The gateway at ${gateway} refuses: ${message} (${status} ${code})`
}

/** A clock that is this far off breaks certificates and signatures. */
const CLOCK_MS_MAX = 5 * 60_000

/** A line about this machine's clock, when it differs from the relay's. */
export function whyClock(aheadMs: number): string | undefined {
  if (Math.abs(aheadMs) < CLOCK_MS_MAX) return undefined
  const minutes = Math.round(Math.abs(aheadMs) / 60_000)
  const side = aheadMs > 0 ? 'behind' : 'ahead of'
  return `This machine's clock is ${minutes} minutes ${side} the relay's: set it right, for certificates and signatures depend on it`
}

/** The end of an agent, in words that say what to do. */
export function whyEnded(reason: 'connector_deleted' | 'replica_revoked', file: string): string {
  return reason === 'connector_deleted'
    ? 'The connector was deleted: this agent has nothing to do any more. Give it the enrolment key of another connector'
    : `This replica was revoked, or another agent of the same name took its place. It does not come back by itself: remove ${file} to let it enrol again, with its own --name`
}

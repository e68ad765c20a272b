import type { Failure } from '../../core/tunnel/protocol.ts'

/** An error of a connection to relay or gateway, in words that say what to do. */
export function whyUnreachable(error: Error, url: URL): string {
  const code = codeOf(error)
  const place = placeOf(url)
  const known = WORDS[code]
  if (known !== undefined) return known(place, url)
  if (/wrong version number|packet length too long/i.test(error.message)) {
    return `${place} does not speak TLS: the address begins with ${url.protocol}//, and ${plainScheme(url)}// may be meant`
  }
  return `${place} cannot be reached: ${error.message || code}`
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
  PROXY_REFUSED: (place) =>
    `the proxy does not connect to ${place}: check --proxy, or name the host in NO_PROXY`,
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

/** Why a request to a destination has no answer, in words that say where to look. */
export function whyUnanswered(code: Failure['code'], url: URL, fault: unknown): string {
  const place = placeOf(url)
  switch (code) {
    case 'connection_refused':
      return `nothing listens at ${place}`
    case 'connection_reset':
      return `${place} closed the connection before it answered`
    case 'dns_error':
      return `the name ${url.hostname} is not known to this machine`
    case 'host_unreachable':
      return `there is no way to ${place}`
    case 'tls_error':
      return `${place} speaks no TLS, or has a certificate that this agent does not trust`
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
  return `${url.hostname}:${url.port || (isSecure(url) ? '443' : '80')}`
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

function isSecure({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'wss:'
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

import { createHash, createHmac } from 'node:crypto'

import { decodeText, toBinary } from '../request/text.ts'
import { BRAINTREE_CHALLENGE, CRC_TOKEN } from './challenges.ts'
import type { SecretSlots } from './config/secrets.ts'
import type { VerifierConfig } from './config/verifier-config.ts'
import type { HandshakeKind } from './presets/preset.ts'
import { presetOf } from './presets/presets.ts'
import { sameBytes, sha256 } from './request/encoding.ts'
import type { SignedRequest, Slot } from './request/signed-request.ts'
import { jsonOf, queryOf, viewOf, type View, walk } from './request/view.ts'
import { snsUrl } from './schemes/aws-sns.ts'
import { compileVerifier, verify } from './verify.ts'

/** The answer to a provider's challenge. An answered handshake is no event. (spec: verifiers, section 5) */
interface HandshakeAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

export type HandshakeAction =
  | { kind: 'answer'; answer: HandshakeAnswer }
  /** The provider hands over the secret: store it as the current one, then answer. */
  | { kind: 'capture'; secret: string; answer: HandshakeAnswer }
  /** The verified request asks for a visit of this URL (egress-guarded GET), then answer. */
  | { kind: 'visit'; url: string; answer: HandshakeAnswer }

export interface HandshakeSecrets extends SecretSlots {
  /** The second secret of Meta, which its subscription form asks for; optional for WebSub. */
  verifyToken?: string | undefined
  /** Which secret the request was verified with; answers that prove knowledge of one use the same. */
  verifiedBy?: Slot | null | undefined
  /** A user with write has opened the window in which a new secret may be captured. */
  isArmed?: boolean | undefined
}

/** Undefined where the source's preset has no handshake: none is ever recognised by its looks alone. */
export function handshakeKind(config: VerifierConfig): HandshakeKind | undefined {
  return presetOf(config)?.handshake
}

interface Occasion {
  view: View
  config: VerifierConfig
  secrets: HandshakeSecrets
}

type Handshake = (occasion: Occasion) => HandshakeAction | undefined

/** Challenges that come unsigned, of any method. Pure. Undefined: the request is none, let it be verified. */
export function handshakeBefore(
  kind: HandshakeKind,
  request: SignedRequest,
  config: VerifierConfig,
  secrets: HandshakeSecrets,
): HandshakeAction | undefined {
  return BEFORE[kind]?.({ view: viewOf(request), config, secrets })
}

/** Challenges inside a request that has been verified. Pure. Undefined: the request is an event. */
export function handshakeAfter(
  kind: HandshakeKind,
  request: SignedRequest,
  config: VerifierConfig,
  secrets: HandshakeSecrets,
): HandshakeAction | undefined {
  if (request.method !== 'POST') return undefined
  return AFTER[kind]?.({ view: viewOf(request), config, secrets })
}

const BEFORE: Readonly<Partial<Record<HandshakeKind, Handshake>>> = {
  meta,
  webSub,
  x: crc,
  dropbox: ({ view }) => (isGet(view) ? echo(queryValue(view, 'challenge')) : undefined),
  okta,
  braintree,
  empty: ({ view }) => (isGet(view) || view.request.method === 'HEAD' ? text(200, '') : undefined),
  // SharePoint writes the name of the token in small letters.
  graph: ({ view }) =>
    view.request.method === 'POST' && view.request.body.length === 0
      ? echo(queryValue(view, 'validationToken') ?? queryValue(view, 'validationtoken'))
      : undefined,
  cloudEvents,
  eventGrid: eventGridOptions,
  asana,
  notion,
  woocommerce,
}

const AFTER: Readonly<Partial<Record<HandshakeKind, Handshake>>> = {
  slack: ({ view }) =>
    bodyText(view, 'type') === 'url_verification' ? echo(bodyText(view, 'challenge')) : undefined,
  discord,
  twitch: ({ view }) =>
    view.request.headers['twitch-eventsub-message-type'] === 'webhook_callback_verification'
      ? echo(bodyText(view, 'challenge'))
      : undefined,
  zoom,
  awsSns,
  eventGrid,
}

/** Echoes are capped: an endpoint that answers whatever it is sent is a tool for others. */
const ECHO_LENGTH_MAX = 1024

function meta({ view, secrets }: Occasion): HandshakeAction | undefined {
  const token = queryValue(view, 'hub.verify_token')
  const challenge = queryValue(view, 'hub.challenge')
  if (!isGet(view) || queryValue(view, 'hub.mode') !== 'subscribe') return undefined
  if (token === undefined || challenge === undefined) return undefined
  return isSameToken(token, secrets.verifyToken) ? echo(challenge) : text(403, '')
}

/** A hub confirms a subscription, or its end; 404 refuses it (W3C WebSub, section 5.3). */
function webSub({ view, config, secrets }: Occasion): HandshakeAction | undefined {
  const mode = queryValue(view, 'hub.mode')
  const topic = queryValue(view, 'hub.topic')
  const challenge = queryValue(view, 'hub.challenge')
  if (!isGet(view) || (mode !== 'subscribe' && mode !== 'unsubscribe')) return undefined
  if (topic === undefined || challenge === undefined) return undefined
  const wanted = config.type === 'hmac' ? config.params?.['topic'] : undefined
  const isTopic = wanted === undefined || topic === wanted
  // WebSub has no verify token; hubs of its predecessor, such as YouTube's, return one that was given.
  const isToken =
    secrets.verifyToken === undefined ||
    isSameToken(queryValue(view, 'hub.verify_token') ?? '', secrets.verifyToken)
  return isTopic && isToken ? echo(challenge) : text(404, '')
}

function isSameToken(given: string, token: string | undefined): boolean {
  return token !== undefined && sameBytes(sha256(toBinary(given)), sha256(toBinary(token)))
}

/** This signs what the caller chose with the key of the bodies: a body of that form is no event. */
function crc({ view, secrets }: Occasion): HandshakeAction | undefined {
  const token = queryValue(view, 'crc_token')
  if (!isGet(view) || token === undefined || !CRC_TOKEN.test(token)) return undefined
  if (secrets.current === undefined) return undefined
  const mac = createHmac('sha256', secrets.current.trim()).update(token).digest('base64')
  return json(200, { response_token: `sha256=${mac}` })
}

/** Okta sends its secret with the challenge too. */
function okta({ view, config, secrets }: Occasion): HandshakeAction | undefined {
  const challenge = view.request.headers['x-okta-verification-challenge']
  if (!isGet(view) || challenge === undefined || challenge.length > ECHO_LENGTH_MAX)
    return undefined
  if (!isVerified(view, config, secrets)) return undefined
  return json(200, { verification: challenge })
}

/** Any longer or freer text would make this sign payloads. */
function braintree({ view, config, secrets }: Occasion): HandshakeAction | undefined {
  const challenge = queryValue(view, 'bt_challenge')
  const publicKey = config.type === 'hmac' ? config.signature.signatureKey : undefined
  if (!isGet(view) || challenge === undefined || publicKey === undefined) return undefined
  if (!BRAINTREE_CHALLENGE.test(challenge) || secrets.current === undefined) return undefined
  const key = createHash('sha1').update(secrets.current.trim()).digest()
  return text(200, `${publicKey}|${createHmac('sha1', key).update(challenge).digest('hex')}`)
}

/** The sender asks for leave before it sends, and need not show the token for it (CloudEvents, HTTP webhook, section 4). */
function cloudEvents({ view }: Occasion): HandshakeAction | undefined {
  const origin = view.request.headers['webhook-request-origin']
  if (view.request.method !== 'OPTIONS' || origin === undefined) return undefined
  if (!/^[A-Za-z0-9.:/*_-]{1,255}$/.test(origin)) return undefined
  const headers = {
    allow: 'POST',
    'webhook-allowed-origin': origin,
    'webhook-allowed-rate': '*',
  }
  return { kind: 'answer', answer: { status: 200, headers, body: '' } }
}

/** Event Grid sends the token of the address with this too. */
function eventGridOptions(occasion: Occasion): HandshakeAction | undefined {
  const { view, config, secrets } = occasion
  if (config.type === 'shared_token' && !isVerified(view, config, secrets)) return undefined
  return cloudEvents(occasion)
}

function asana({ view, secrets }: Occasion): HandshakeAction | undefined {
  const secret = view.request.headers['x-hook-secret']
  if (view.request.method !== 'POST' || !mayCapture(secrets)) return undefined
  if (secret === undefined || !/^[\x21-\x7e]{8,256}$/.test(secret)) return undefined
  const answer = { status: 200, headers: { 'x-hook-secret': secret }, body: '' }
  return { kind: 'capture', secret, answer }
}

function notion({ view, secrets }: Occasion): HandshakeAction | undefined {
  if (view.request.method !== 'POST' || !mayCapture(secrets)) return undefined
  const body = jsonOf(view)
  const secret = bodyText(view, 'verification_token')
  const isAlone = typeof body === 'object' && body !== null && Object.keys(body).length === 1
  if (!isAlone || secret === undefined || !/^[\x21-\x7e]{8,256}$/.test(secret)) return undefined
  return { kind: 'capture', secret, answer: { status: 200, headers: {}, body: '' } }
}

/** Anyone can send a first secret: only while there is none, or while a user waits for one. */
function mayCapture({ current, isArmed }: HandshakeSecrets): boolean {
  return current === undefined || isArmed === true
}

function woocommerce({ view }: Occasion): HandshakeAction | undefined {
  const { method, body, headers } = view.request
  if (method !== 'POST' || headers['x-wc-webhook-signature'] !== undefined) return undefined
  const isPing = body.length <= 64 && /^webhook_id=\d+$/.test(body.toString('latin1'))
  return isPing ? text(200, '') : undefined
}

/** Interactions ping with type 1; webhook events with type 0, and no body in the answer. */
function discord({ view }: Occasion): HandshakeAction | undefined {
  const type = walk(jsonOf(view), ['type'])
  if (type === 1 && walk(jsonOf(view), ['event']) === undefined) return json(200, { type: 1 })
  return type === 0 ? { kind: 'answer', answer: { status: 204, headers: {}, body: '' } } : undefined
}

function zoom({ view, secrets }: Occasion): HandshakeAction | undefined {
  if (bodyText(view, 'event') !== 'endpoint.url_validation') return undefined
  const plainToken = walk(jsonOf(view), ['payload', 'plainToken'])
  if (typeof plainToken !== 'string' || plainToken.length > ECHO_LENGTH_MAX) return undefined
  const secret = secrets.verifiedBy === 'previous' ? secrets.previous : secrets.current
  if (secret === undefined) return undefined
  const mac = createHmac('sha256', secret.trim()).update(plainToken)
  return json(200, { plainToken, encryptedToken: mac.digest('hex') })
}

function awsSns({ view }: Occasion): HandshakeAction | undefined {
  if (bodyText(view, 'Type') !== 'SubscriptionConfirmation') return undefined
  const url = snsUrl(bodyText(view, 'SubscribeURL') ?? '')
  if (url === undefined) return undefined
  return { kind: 'visit', url: url.href, answer: { status: 200, headers: {}, body: '' } }
}

function eventGrid({ view }: Occasion): HandshakeAction | undefined {
  if (view.request.headers['aeg-event-type'] !== 'SubscriptionValidation') return undefined
  const code = walk(jsonOf(view), ['0', 'data', 'validationCode'])
  if (typeof code !== 'string' || code.length > ECHO_LENGTH_MAX) return undefined
  return json(200, { validationResponse: code })
}

function isVerified(view: View, config: VerifierConfig, secrets: SecretSlots): boolean {
  return verify(compileVerifier(config, secrets), view.request, 0).kind === 'valid'
}

function isGet(view: View): boolean {
  return view.request.method === 'GET'
}

/** The text of a query field that is there exactly once. */
function queryValue(view: View, name: string): string | undefined {
  const [value, ...more] = queryOf(view).get(name) ?? []
  if (value === undefined || more.length > 0) return undefined
  return decodeText(value)
}

function bodyText(view: View, name: string): string | undefined {
  const value = walk(jsonOf(view), [name])
  return typeof value === 'string' ? value : undefined
}

function echo(challenge: string | undefined): HandshakeAction | undefined {
  if (challenge === undefined || challenge === '' || challenge.length > ECHO_LENGTH_MAX) {
    return undefined
  }
  return text(200, challenge)
}

const NO_SNIFF = { 'x-content-type-options': 'nosniff' }

function text(status: number, body: string): HandshakeAction {
  const headers = { 'content-type': 'text/plain; charset=utf-8', ...NO_SNIFF }
  return { kind: 'answer', answer: { status, headers, body } }
}

function json(status: number, value: Readonly<Record<string, unknown>>): HandshakeAction {
  const headers = { 'content-type': 'application/json', ...NO_SNIFF }
  return { kind: 'answer', answer: { status, headers, body: JSON.stringify(value) } }
}

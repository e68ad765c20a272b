import { compileMac } from '../../mac.ts'
import { compileSelector } from '../../match/selector.ts'
import { toBinary } from '../../request/text.ts'
import type { SecretSlots } from '../config/secrets.ts'
import { acceptsSecret, type ConfigOf, type VerifierConfig } from '../config/verifier-config.ts'
import { decodeSecret, sha256 } from '../request/encoding.ts'
import { ConfigFault, type SignedRequest } from '../request/signed-request.ts'
import { viewOf } from '../request/view.ts'
import { readKeys } from '../schemes/standard-webhooks.ts'
import { signedUrl } from '../schemes/template.ts'
import { compileVerifier, verify } from '../verify.ts'
import {
  newDraft,
  putHeader,
  putMember,
  requestOf,
  sampleId,
  SAMPLE_TYPE,
  type Draft,
} from './draft.ts'
import { signHmac } from './sign-hmac.ts'

/** A source as far as it says which requests it takes. */
interface SampleSource {
  kind: 'http' | 'email'
  isEnabled: boolean
  allowedMethods: readonly string[]
  verifier: VerifierConfig
  eventTypeField: string | null
}

/** A request that the source accepts, or why none can be made here. */
export type Sample = { request: SignedRequest } | { obstacle: string }

interface Signing {
  secret: string | undefined
  /** The ingest URL of the source: some providers sign it. */
  address: string
  nowMs: number
}

const METHODS = ['POST', 'PUT', 'PATCH']

/**
 * Makes up a webhook, signed with the real secret as its provider would. It is verified before it is given away, so that a
 * sample that is sent is never rejected for its signature.
 */
export function makeSample(
  source: SampleSource,
  slots: SecretSlots,
  at: Omit<Signing, 'secret'>,
): Sample {
  const obstacle = plainObstacle(source, slots)
  if (obstacle !== undefined) return { obstacle }
  const draft = newDraft(METHODS.find((method) => source.allowedMethods.includes(method)) ?? '')
  putType(draft, source.eventTypeField)
  try {
    if (!sign(draft, source.verifier, { ...at, secret: slots.current })) return UNSIGNED
  } catch (error) {
    if (error instanceof ConfigFault)
      return { obstacle: `The verifier is at fault: ${error.message}` }
    throw error
  }
  const request = requestOf(draft, at.address)
  const isValid =
    verify(compileVerifier(source.verifier, slots), request, at.nowMs).kind === 'valid'
  return isValid && isSendable(request) ? { request } : UNSIGNED
}

const UNSIGNED: Sample = {
  obstacle: 'Postern cannot sign as this verifier wants. Send a test from the page of the provider',
}

function plainObstacle(source: SampleSource, slots: SecretSlots): string | undefined {
  const { kind, isEnabled, allowedMethods, verifier } = source
  if (kind === 'email') return 'The source takes mail, not webhooks'
  if (!isEnabled) return 'The source is disabled and takes no requests'
  if (!METHODS.some((method) => allowedMethods.includes(method))) {
    return `The source takes ${allowedMethods.join(' and ')} alone, which have no body`
  }
  if (verifier.type === 'ip_allow_list') return 'Only the addresses of the list may send'
  if (isOfProvider(verifier, slots)) {
    return 'Only the provider can sign: it alone has the private key. Send a test from its page'
  }
  if (acceptsSecret(verifier) && slots.current === undefined) {
    return 'The source has no secret yet to sign with'
  }
  return undefined
}

function isOfProvider(verifier: VerifierConfig, { current }: SecretSlots): boolean {
  const { type } = verifier
  if (type === 'jwt') return verifier.keySource.kind !== 'secret'
  if (type === 'standard_webhooks')
    return current === undefined && verifier.publicKeys !== undefined
  return type === 'public_key' || type === 'aws_sns'
}

/** Gives the event a type where the source looks for one. */
function putType(draft: Draft, field: string | null): void {
  if (field === null) return
  const selector = compileSelector(field)
  if (selector.part === 'header') putHeader(draft, selector.name, SAMPLE_TYPE)
  if (selector.part === 'query') draft.query.set(selector.name, SAMPLE_TYPE)
  if (selector.part === 'body') putMember(draft.members, selector.path, SAMPLE_TYPE)
}

/** False for schemes that are none of these. Throws a ConfigFault. */
function sign(draft: Draft, verifier: VerifierConfig, signing: Signing): boolean {
  const { secret } = signing
  switch (verifier.type) {
    case 'none':
      return true
    case 'shared_token':
      return putToken(draft, verifier, decodeSecret(secret, 'utf8').toString('utf8'))
    case 'basic_auth': {
      const password = decodeSecret(secret, 'utf8').toString('utf8')
      const credentials = Buffer.from(`${verifier.username}:${password}`).toString('base64')
      putHeader(draft, 'authorization', `Basic ${credentials}`)
      return true
    }
    case 'standard_webhooks':
      return signStandardWebhooks(draft, verifier, signing)
    case 'hmac':
      return signHmac(draft, verifier, signing)
    case 'twilio':
      return signTwilio(draft, verifier, signing)
    case 'public_key':
    case 'jwt':
    case 'ip_allow_list':
    case 'adyen':
    case 'aws_sns':
    case 'all_of':
    case 'email':
      return false
  }
}

/** A token in a body would stand in the event, for everybody who may read it. */
function putToken(draft: Draft, { token }: ConfigOf<'shared_token'>, secret: string): boolean {
  const text = `${token.prefix ?? ''}${secret}`
  if (token.in === 'header') putHeader(draft, token.name, text)
  if (token.in === 'query') draft.query.set(token.name, text)
  return token.in === 'header' || token.in === 'query'
}

function signStandardWebhooks(
  draft: Draft,
  { headerPrefixes: [prefix = ''], secretEncoding }: ConfigOf<'standard_webhooks'>,
  { secret, address, nowMs }: Signing,
): boolean {
  const [key] = readKeys(secret, secretEncoding)
  if (key === undefined) return false
  const id = sampleId()
  const timestamp = String(Math.floor(nowMs / 1_000))
  const { body } = requestOf(draft, address)
  const signature = compileMac('sha256', key)([`${id}.${timestamp}.`, body])
  putHeader(draft, `${prefix}id`, id)
  putHeader(draft, `${prefix}timestamp`, timestamp)
  putHeader(draft, `${prefix}signature`, `v1,${signature.toString('base64')}`)
  return true
}

/** As Twilio signs JSON: the URL alone, which holds the hash of the body. */
function signTwilio(
  draft: Draft,
  { url }: ConfigOf<'twilio'>,
  { secret, address }: Signing,
): boolean {
  draft.query.set('bodySHA256', sha256(requestOf(draft, address).body).toString('hex'))
  const text = toBinary(signedUrl(viewOf(requestOf(draft, address)), url))
  const signature = compileMac('sha1', decodeSecret(secret, 'utf8'))([text])
  putHeader(draft, 'x-twilio-signature', signature.toString('base64'))
  return true
}

/**
 * The names of headers come from a configuration. These are the business of the connection, of proxies on the way, or say
 * where a request goes and comes from.
 */
const NOT_OURS =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|via|proxy-.*|forwarded|x-forwarded-.*|x-real-ip|postern-.*)$/i

function isSendable({ rawHeaders = [] }: SignedRequest): boolean {
  try {
    const headers = new Headers(rawHeaders.map(([name, value]): [string, string] => [name, value]))
    return [...headers.keys()].every((name) => !NOT_OURS.test(name))
  } catch {
    return false
  }
}

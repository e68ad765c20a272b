import type { VerifierConfig } from './config/verifier-config.ts'
import { presetOf } from './presets/presets.ts'
import type { SignedRequest } from './request/signed-request.ts'
import { plainFormOf, viewOf } from './request/view.ts'

/** X and Braintree have a text that anybody may choose signed with the key of the bodies: only of these forms. */
export const CRC_TOKEN = /^[A-Za-z0-9_-]{1,128}$/
export const BRAINTREE_CHALLENGE = /^[a-f0-9]{20,32}$/

type Test = (request: SignedRequest) => boolean

/**
 * Tells whether what a request has signed could be a challenge, whose answer anybody can get: its signature proves
 * nothing then. No event of either provider is such a text. Undefined where no challenge is signed.
 */
export function challengeTest(config: VerifierConfig): Test | undefined {
  const kind = presetOf(config)?.handshake
  if (kind === 'x') return isCrcToken
  return kind === 'braintree' ? isBraintreeChallenge : undefined
}

function isCrcToken({ body }: SignedRequest): boolean {
  return body.length <= 128 && CRC_TOKEN.test(body.toString('latin1'))
}

function isBraintreeChallenge(request: SignedRequest): boolean {
  const payloads = plainFormOf(viewOf(request))?.get('bt_payload') ?? []
  return payloads.some((payload) => BRAINTREE_CHALLENGE.test(payload))
}

import { randomBytes } from 'node:crypto'

import type { VerifierConfig } from './verifier-config.ts'

const SECRET_BYTES = 32

/** The key of an HS512 has at least the length of its hash (RFC 7518, section 3.2). */
const JWT_SECRET_BYTES = 48

/** A random secret as the verifier reads it. Undefined where only the provider can make one. */
export function newSecret(config: VerifierConfig): string | undefined {
  switch (config.type) {
    case 'standard_webhooks':
      return config.secretEncoding === 'utf8'
        ? textOf(SECRET_BYTES)
        : `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
    case 'hmac':
      if (config.secretEncoding === 'base64') return randomBytes(SECRET_BYTES).toString('base64')
      if (config.secretEncoding === 'hex') return randomBytes(SECRET_BYTES).toString('hex')
      return textOf(SECRET_BYTES)
    case 'adyen':
      return randomBytes(SECRET_BYTES).toString('hex')
    case 'jwt':
      // Plaid's is the account's own, with which its keys are fetched.
      return config.keySource.kind === 'secret' ? textOf(JWT_SECRET_BYTES) : undefined
    case 'basic_auth':
    case 'shared_token':
    case 'twilio':
      return textOf(SECRET_BYTES)
    case 'none':
    case 'public_key':
    case 'ip_allow_list':
    case 'aws_sns':
    case 'all_of':
    case 'email':
      return undefined
  }
}

/** Goes into a header, a query or a form as it is. */
function textOf(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}

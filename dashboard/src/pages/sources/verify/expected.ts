import type { Schemas } from '../../../api/client.ts'

/** Where the signature must stand and how it is written. */
export function shapeOfExpected(
  verifier: Schemas['VerifierConfig'],
): (readonly [string, string])[] {
  switch (verifier.type) {
    case 'hmac':
    case 'public_key':
      return [
        ['Signature in', `${verifier.signature.in} ${verifier.signature.names.join(' or ')}`],
        ['Written as', `${verifier.signature.encoding}${prefixOf(verifier.signature.prefix)}`],
        ['Algorithm', verifier.algorithm],
        ...(verifier.timestamp === undefined
          ? []
          : [['Time tolerated', `${verifier.timestamp.toleranceSeconds} s`] as const]),
      ]
    case 'standard_webhooks':
      return [
        [
          'Signature in',
          verifier.headerPrefixes.map((prefix) => `${prefix}signature`).join(' or '),
        ],
        ['Written as', 'v1,base64'],
        ['Time tolerated', `${verifier.toleranceSeconds} s`],
      ]
    case 'shared_token':
    case 'jwt':
      return [['Token in', `${verifier.token.in} ${verifier.token.name}`]]
    case 'basic_auth':
      return [['User name', verifier.username]]
    case 'adyen':
    case 'all_of':
    case 'aws_sns':
    case 'email':
    case 'ip_allow_list':
    case 'none':
    case 'twilio':
      return []
  }
}

function prefixOf(prefix: string | undefined): string {
  return prefix === undefined || prefix === '' ? '' : `, behind "${prefix}"`
}

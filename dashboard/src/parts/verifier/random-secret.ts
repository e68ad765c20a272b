const BYTES = 32

/** A secret as the kind of verifier writes it. */
export function randomSecret(type: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES))
  return type === 'standard_webhooks'
    ? `whsec_${bytes.toBase64()}`
    : [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

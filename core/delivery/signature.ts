import { randomBytes } from 'node:crypto'

import { compileMac, type Mac } from '../mac.ts'

/** The keys that sign a destination's deliveries: the current one, and the previous one during an overlap. */
export type Signer = readonly Mac[]

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** Prepares `whsec_…` secrets for many signatures. Throws on one that is no base64, without showing it. */
export function compileSigner(secrets: readonly string[]): Signer {
  return secrets.map((secret) => {
    const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) {
      throw new Error('Cannot read a signing secret: it must be whsec_ and base64')
    }
    return compileMac('sha256', Buffer.from(text, 'base64'))
  })
}

/**
 * The `webhook-signature` of Standard Webhooks over the body's exact bytes: one `v1` for each secret, separated by
 * spaces. (decisions: Delivery)
 */
export function sign(signer: Signer, id: string, timestampSeconds: number, body: Buffer): string {
  const head = `${id}.${timestampSeconds}.`
  let list = ''
  for (const mac of signer) {
    const text = mac([head, body]).toString('base64')
    list += list === '' ? `v1,${text}` : ` v1,${text}`
  }
  return list
}

/** (decisions: Rotation, keys, roles) */
export function newSigningSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

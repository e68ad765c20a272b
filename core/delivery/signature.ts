import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

/** The keys that sign a destination's deliveries: the current one, and the previous one during an overlap. */
export type Signer = readonly KeyObject[]

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** Prepares `whsec_…` secrets for many signatures. Throws on one that is no base64, without showing it. */
export function compileSigner(secrets: readonly string[]): Signer {
  return secrets.map((secret) => {
    const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) {
      throw new Error('Cannot read a signing secret: it must be whsec_ and base64')
    }
    return createSecretKey(text, 'base64')
  })
}

/**
 * The `webhook-signature` of Standard Webhooks over the body's exact bytes: one `v1` for each secret, separated by
 * spaces. (decisions: Delivery)
 */
export function sign(signer: Signer, id: string, timestampSeconds: number, body: Buffer): string {
  const head = `${id}.${timestampSeconds}.`
  let list = ''
  for (const key of signer) {
    const mac = createHmac('sha256', key).update(head).update(body).digest('base64')
    list += list === '' ? `v1,${mac}` : ` v1,${mac}`
  }
  return list
}

/** (decisions: Rotation, keys, roles) */
export function newSigningSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

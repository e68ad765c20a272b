import { z } from 'zod'

import { seal, unseal, type Keyring } from './sealed.ts'

/** Everything of a destination that is never shown, sealed as one value. */
const DestinationSecrets = z.strictObject({
  /** `whsec_…`; both sign while a rotation overlaps. */
  signing: z.strictObject({ current: z.string(), previous: z.string().nullable() }),
  /** The destination's own headers, names as they were written. */
  headers: z.record(z.string(), z.string()),
  /** The password, token or client secret of `auth`; null for `none`. */
  auth: z.string().nullable(),
})

export type DestinationSecrets = z.infer<typeof DestinationSecrets>

export function sealDestinationSecrets(keyring: Keyring, secrets: DestinationSecrets): Buffer {
  return seal(keyring, secrets)
}

/** Throws when the key is unknown or the value was changed. */
export function openDestinationSecrets(keyring: Keyring, sealed: Buffer): DestinationSecrets {
  return DestinationSecrets.parse(unseal(keyring, sealed))
}

/** How Postern proves itself to a destination, as it is stored: without the secret of each type. */
export const StoredAuth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('basic'), username: z.string() }),
  z.strictObject({ type: z.literal('bearer') }),
  z.strictObject({
    type: z.literal('oauth2ClientCredentials'),
    tokenUrl: z.string(),
    clientId: z.string(),
    scope: z.string().optional(),
  }),
])

export type StoredAuth = z.infer<typeof StoredAuth>

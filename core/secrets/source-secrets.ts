import { z } from 'zod'

import { seal, unseal, type Keyring } from './sealed.ts'

/** Everything of a source that is never shown, sealed as one value. Members are absent where there is no secret. */
const SourceSecrets = z.strictObject({
  current: z.string().optional(),
  /** The secret before a rotation; good until the source's `previous_secret_expires_at`. */
  previous: z.string().optional(),
  /** The secrets of the members of an `all_of`, in order. */
  members: z.array(z.string().nullable()).optional(),
  /** What a handshake must show before it is answered (Meta). */
  verifyToken: z.string().optional(),
})

export type SourceSecrets = z.infer<typeof SourceSecrets>

/** Null when there is nothing to keep. */
export function sealSourceSecrets(keyring: Keyring, secrets: SourceSecrets): Buffer | null {
  return Object.values(secrets).some((value) => value !== undefined) ? seal(keyring, secrets) : null
}

/** Throws when the key is unknown or the value was changed. */
export function openSourceSecrets(keyring: Keyring, sealed: Buffer | null): SourceSecrets {
  return sealed === null ? {} : SourceSecrets.parse(unseal(keyring, sealed))
}

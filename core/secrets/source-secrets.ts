import { z } from 'zod'

import { seal, unseal, type Keyring } from './sealed.ts'
import { placeOfSecrets, type SecretsRow } from './secrets-place.ts'

/** Everything of a source that is never shown, sealed as one value. Members are absent where there is no secret. */
const SourceSecrets = z.strictObject({
  current: z.string().optional(),
  /** The secret before a rotation; good until the source's `previous_secret_expires_at`. */
  previous: z.string().optional(),
  /** The secrets of the members of an `all_of`, in order. */
  members: z.array(z.string().nullable()).optional(),
  /** A handshake must show this token to be answered (Meta). */
  verifyToken: z.string().optional(),
})

export type SourceSecrets = z.infer<typeof SourceSecrets>

/** Null when there is nothing to keep. */
export function sealSourceSecrets(
  keyring: Keyring,
  row: SecretsRow,
  secrets: SourceSecrets,
): Buffer | null {
  return Object.values(secrets).some((value) => value !== undefined)
    ? seal(keyring, secrets, placeOfSecrets('source', row))
    : null
}

/** Throws when the key is unknown, the value was changed or was sealed for another row. */
export function openSourceSecrets(
  keyring: Keyring,
  row: SecretsRow & { secrets: Buffer | null },
): SourceSecrets {
  return row.secrets === null
    ? {}
    : SourceSecrets.parse(unseal(keyring, row.secrets, placeOfSecrets('source', row)))
}

import { z } from 'zod'

import { seal, unseal, type Keyring } from './sealed.ts'
import { placeOfSecrets, type SecretsRow } from './secrets-place.ts'

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

export function sealDestinationSecrets(
  keyring: Keyring,
  row: SecretsRow,
  secrets: DestinationSecrets,
): Buffer {
  return seal(keyring, secrets, placeOfSecrets('destination', row))
}

/** Throws when the key is unknown, the value was changed or was sealed for another row. */
export function openDestinationSecrets(
  keyring: Keyring,
  row: SecretsRow & { secrets: Buffer },
): DestinationSecrets {
  return DestinationSecrets.parse(unseal(keyring, row.secrets, placeOfSecrets('destination', row)))
}

/** How Postern proves itself to a destination, as it is stored: without the secret of each type. */
export const StoredAuth = z
  .discriminatedUnion('type', [
    z
      .strictObject({ type: z.literal('none').describe('No authentication.') })
      .meta({ id: 'NoAuth', description: 'No authentication.' }),
    z
      .strictObject({
        type: z.literal('basic').describe('HTTP Basic.'),
        username: z.string().describe('Sent before the colon of HTTP Basic.'),
      })
      .meta({ id: 'BasicAuth', description: 'A user name and a password.' }),
    z
      .strictObject({ type: z.literal('bearer').describe('A bearer token.') })
      .meta({ id: 'BearerAuth', description: 'A token that stays the same.' }),
    z
      .strictObject({
        type: z
          .literal('oauth2ClientCredentials')
          .describe('A token that Postern fetches for itself and renews.'),
        tokenUrl: z.string().describe('Where tokens are fetched.'),
        clientId: z.string().describe('The id under which the token endpoint knows Postern.'),
        scope: z
          .string()
          .optional()
          .describe('Scopes of the token, with single blanks between them.'),
      })
      .meta({
        id: 'OAuth2ClientCredentialsAuth',
        description: 'A token that Postern fetches with a client’s credentials.',
      }),
  ])
  .meta({
    id: 'DestinationAuth',
    description: 'How Postern proves itself to the destination; the secret is not shown.',
  })

export type StoredAuth = z.infer<typeof StoredAuth>

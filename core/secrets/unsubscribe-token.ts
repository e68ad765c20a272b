import { z } from 'zod'

import { seal, unseal, type Keyring } from './sealed.ts'

const PLACE = 'the mails of alerts'

/** A person who gets mails about the alerts of an organisation. */
const Recipient = z.object({ organisationId: z.uuid(), personId: z.uuid() })
type Recipient = z.infer<typeof Recipient>

/** A token with which the mails of a recipient are ended without signing in. It is good as long as the key that seals it. */
export function unsubscribeToken(keyring: Keyring, recipient: Recipient): string {
  const { organisationId, personId } = recipient
  return seal(keyring, { organisationId, personId }, PLACE).toString('base64url')
}

/** The recipient that a token was made for. Undefined: it was not made here. */
export function recipientOf(keyring: Keyring, token: string): Recipient | undefined {
  try {
    return Recipient.parse(unseal(keyring, Buffer.from(token, 'base64url'), PLACE))
  } catch {
    return undefined
  }
}

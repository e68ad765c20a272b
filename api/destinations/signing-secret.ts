import { timestamp } from '../../core/clock.ts'
import type { Destination } from '../../core/db/configuration/destinations.ts'
import { newSigningSecret } from '../../core/delivery/signature.ts'
import { refuse } from '../../core/errors.ts'
import {
  openDestinationSecrets,
  sealDestinationSecrets,
} from '../../core/secrets/destination-secrets.ts'
import type { Keyring } from '../../core/secrets/sealed.ts'

/** The secrets that sign a destination's deliveries at `now`. */
export function signingSecrets(
  keyring: Keyring,
  destination: Destination,
  now: Date,
): { secret: string; previous: { secret: string; expiresAt: Date } | null } {
  const { current, previous } = openDestinationSecrets(keyring, destination).signing
  const expiresAt = overlapEnd(destination, now)
  return {
    secret: current,
    previous: previous === null || expiresAt === null ? null : { secret: previous, expiresAt },
  }
}

/**
 * The destination with a new signing secret; the present one signs beside it until the overlap ends. `force` displaces
 * a secret whose overlap still runs. (spec: ROTATION_OVERLAP_ACTIVE)
 */
export function rotateSigningSecret(
  keyring: Keyring,
  destination: Destination,
  wish: { force: boolean; overlapSeconds: number },
  now: Date,
): { row: Destination; secret: string; previousExpiresAt: Date } {
  const activeUntil = overlapEnd(destination, now)
  if (activeUntil !== null && !wish.force) {
    refuse(
      'ROTATION_OVERLAP_ACTIVE',
      'Cannot rotate signing secret: the previous one is in its overlap window (force=true displaces it)',
      { expiresAt: timestamp(activeUntil.getTime()) },
    )
  }
  const held = openDestinationSecrets(keyring, destination)
  const secret = newSigningSecret()
  const previousExpiresAt = new Date(now.getTime() + wish.overlapSeconds * 1_000)
  const isKept = wish.overlapSeconds > 0
  const signing = { current: secret, previous: isKept ? held.signing.current : null }
  return {
    row: {
      ...destination,
      secrets: sealDestinationSecrets(keyring, destination, { ...held, signing }),
      previousSigningSecretExpiresAt: isKept ? previousExpiresAt : null,
      updatedAt: now,
    },
    secret,
    previousExpiresAt,
  }
}

function overlapEnd(destination: Destination, now: Date): Date | null {
  const expiresAt = destination.previousSigningSecretExpiresAt
  return expiresAt !== null && expiresAt > now ? expiresAt : null
}

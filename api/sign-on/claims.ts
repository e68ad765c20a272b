import { z } from 'zod'

import { PROVIDER_CLOCK_SECONDS, PROVIDER_FLOW_MINUTES } from '../../core/limits.ts'

const Seconds = z.number().int().nonnegative()

/** The claims that say who came and when they proved it. (OpenID Connect Core, 2) */
const Proof = z.object({
  sub: z.string().min(1).max(255),
  iat: Seconds,
  auth_time: Seconds.optional(),
})

/** Providers whose documentation says that they write `email_verified` as a text: Apple and Amazon Cognito. */
const WRITE_TEXT = [
  /^https:\/\/appleid\.apple\.com$/,
  /^https:\/\/cognito-idp\.[a-z0-9-]+\.amazonaws\.com\/[\w-]+$/,
]

/**
 * The subject of an ID token, and for how long the provider had not asked the person when it wrote it. Throws when the
 * subject is empty or the times cannot be: the token was written for this sign-in, a moment ago.
 */
export function readProof(
  claims: Readonly<Record<string, unknown>>,
  nowMs: number,
): { subject: string; provedAgoSeconds: number | undefined } {
  const { data, error } = Proof.safeParse(claims)
  if (error !== undefined) {
    throw new Error(`The ID token has no usable ${error.issues[0]?.path.join('.') ?? 'claims'}`)
  }
  const { sub: subject, iat: writtenAt, auth_time: provedAt } = data
  const ageSeconds = nowMs / 1_000 - writtenAt
  const ageSecondsMax = PROVIDER_FLOW_MINUTES * 60 + PROVIDER_CLOCK_SECONDS
  if (ageSeconds < -PROVIDER_CLOCK_SECONDS || ageSeconds > ageSecondsMax) {
    throw new Error(
      'The ID token was not written now: the clocks of both sides differ, or it is old',
    )
  }
  if (provedAt === undefined) return { subject, provedAgoSeconds: undefined }
  if (provedAt > writtenAt + PROVIDER_CLOCK_SECONDS) {
    throw new Error('The ID token says that the person signs in later than it was written')
  }
  return { subject, provedAgoSeconds: Math.max(0, writtenAt - provedAt) }
}

/** Whether a provider says that the address is verified: `true`, or the text where the provider is known to write one. */
export function isVerifiedBy(issuer: string, claim: unknown): boolean {
  return claim === true || (claim === 'true' && WRITE_TEXT.some((known) => known.test(issuer)))
}

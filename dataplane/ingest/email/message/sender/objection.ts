import type { dkimVerify } from 'mailauth'

import { MAIL_SIGNED_AHEAD_SECONDS } from '../../../../../core/limits.ts'
import { valuesOf, type Field } from './header-fields.ts'
import { fitsBody } from './mime-frame.ts'

export type Signature = Awaited<ReturnType<typeof dkimVerify>>['results'][number]

/** Why a signature that is valid by itself counts for nothing. */
export type Objection =
  | 'malformed'
  | 'test_key'
  | 'dated_ahead'
  | 'body_not_covered'
  | 'header_not_covered'
  | 'type_not_covered'

/**
 * Headers that say who wrote what, and which mail it is: a signature without them can be put on another mail. `To`, `Cc`,
 * `In-Reply-To` and `References` are not among them, as Microsoft 365 signs none of these.
 */
const OF_AUTHOR = ['from', 'sender', 'reply-to', 'subject', 'date', 'message-id']

/** A signature that must be ignored, and that mailauth checks all the same. (RFC 6376 6.1.1) */
const MALFORMED: ReadonlySet<string> = new Set([
  'missing-v',
  'missing-a',
  'missing-b',
  'missing-bh',
  'missing-d',
  'missing-h',
  'missing-s',
  'invalid-v',
  'identity-domain',
])

/** Says what speaks against a valid signature. The mail has no header twice that may stand once. */
export function objectionTo(
  signature: Signature,
  { mail, fields, nowMs }: { mail: Buffer; fields: readonly Field[]; nowMs: number },
): Objection | undefined {
  const { status, signTime } = signature
  if (status.warnings?.some((warning) => MALFORMED.has(warning))) return 'malformed'
  if (signTime === null && hasOddTime(fields)) return 'malformed'
  if (status.testing === true) return 'test_key'
  const signedAt = typeof signTime === 'string' ? Date.parse(signTime) : 0
  if (signedAt > nowMs + MAIL_SIGNED_AHEAD_SECONDS * 1_000) return 'dated_ahead'
  if (status.underSized !== undefined) return 'body_not_covered'
  const covered = coveredBy(signature)
  const isCovered = (name: string): boolean =>
    valuesOf(fields, name).every((value) => covered.has(lineOf(name, value)))
  if (!OF_AUTHOR.every(isCovered)) return 'header_not_covered'
  // Gmail and others leave the type out, so that it must fit the body, which is covered.
  const isTyped =
    valuesOf(fields, 'content-type').length > 0 &&
    isCovered('content-type') &&
    isCovered('content-transfer-encoding')
  return isTyped || fitsBody(fields, mail) ? undefined : 'type_not_covered'
}

/** Whether a signature has a time that no clock shows, which would pass for none. */
function hasOddTime(fields: readonly Field[]): boolean {
  return valuesOf(fields, 'dkim-signature').some((value) =>
    /(?:^|;)\s*t\s*=(?!\s*\d{1,12}\s*(?:;|$))/i.test(value),
  )
}

/** The names of the headers that a signature covers. */
export function signedNames({ signingHeaders }: Signature): string[] {
  const names = (signingHeaders?.keys ?? '').toLowerCase().split(': ')
  return [...new Set(names)].filter((name) => name !== '')
}

/** The headers that the signature was checked over, as `lineOf` gives them. */
function coveredBy({ signingHeaders }: Signature): ReadonlySet<string> {
  return new Set(
    signingHeaders?.headers.map((line) => {
      const colon = line.indexOf(':')
      const value = line.slice(colon + 1).replaceAll(/\r?\n/g, '')
      return `${line.slice(0, colon).trim().toLowerCase()}:${value.trim()}`
    }),
  )
}

/** As mailauth shows it, which reads bytes as UTF-8. */
function lineOf(name: string, value: string): string {
  return `${name}:${Buffer.from(value, 'latin1').toString('utf8').trim()}`
}

import type { KeyObject } from 'node:crypto'

import type { HeaderPair, Headers } from '../../request/headers.ts'

/** A request as the wire carried it; the only input of a verdict besides the configuration and the time. */
export interface SignedRequest {
  method: string
  /** The public ingest URL as the sender called it: mask, path after it and the raw query. */
  url: string
  path: string
  /** Raw, without the question mark. */
  query: string
  /** Joined, as binary strings. */
  headers: Headers
  /** As they came, where that is known: a joined header does not always show that it came twice. */
  rawHeaders?: readonly HeaderPair[]
  body: Buffer
  remoteIp: string
}

/** (spec: Rejection reasons) */
export const REJECTION_REASONS = [
  'signature_mismatch',
  'missing_signature_header',
  'missing_id_header',
  'missing_timestamp_header',
  'malformed_signature_header',
  'malformed_timestamp',
  'timestamp_out_of_tolerance',
  'verifier_misconfigured',
  'unsupported_verifier',
] as const

export type RejectionReason = (typeof REJECTION_REASONS)[number]

/** Which of the two secrets of a rotation matched. */
export type Slot = 'current' | 'previous'

/** A key that a verifier needs and that must be fetched: the one step of verification that is not pure. */
export type KeyRequest =
  | { kind: 'jwks'; url: string; kid: string | undefined }
  | { kind: 'cert'; url: string }
  | {
      kind: 'plaid'
      environment: string
      clientId: string
      secrets: readonly string[]
      kid: string
    }

/** A fetched public key; certificates carry their validity, Plaid keys the end of theirs. */
export interface FetchedKey {
  kid?: string | undefined
  alg?: string | undefined
  key: KeyObject
  validFromMs?: number | undefined
  validToMs?: number | undefined
}

export type KeyAnswer =
  | { kind: 'found'; keys: readonly FetchedKey[] }
  /** `why` is for whoever configured the source. */
  | { kind: 'failed'; why: string }

/** Undefined: not fetched yet. */
export type KeyLookup = (request: KeyRequest) => KeyAnswer | undefined

export interface Rejection {
  kind: 'rejected'
  reason: RejectionReason
  /** The fault of the configuration, for the owner of the source, never for the sender. */
  detail?: string
}

/** `once` is the signed text, where a request is new only as long as nobody has sent that text before. */
export type Verdict =
  | { kind: 'valid'; slot: Slot | null; once?: string }
  | Rejection
  | { kind: 'needs_key'; request: KeyRequest }

/** Every verifier type compiles to a check. `slot` is null if no secret takes part. */
export type Check = (request: SignedRequest, nowMs: number, keys: KeyLookup) => Verdict

export const VALID: Readonly<Record<Slot | 'none', Verdict>> = {
  current: { kind: 'valid', slot: 'current' },
  previous: { kind: 'valid', slot: 'previous' },
  none: { kind: 'valid', slot: null },
}

export function rejected(reason: RejectionReason, detail?: string): Rejection {
  return detail === undefined ? { kind: 'rejected', reason } : { kind: 'rejected', reason, detail }
}

/** The result of a step of verification: a reason, a whole verdict, or undefined to go on. */
export type Step = RejectionReason | Verdict | undefined

/** The step after a key could not be had. */
export function withoutKey({ why }: Extract<KeyAnswer, { kind: 'failed' }>): Verdict {
  return rejected('verifier_misconfigured', why)
}

export type MemberPath = readonly (string | number)[]

/**
 * A configuration that cannot verify anything. Thrown while compiling; refused when it is saved, and the verdict on
 * every request where it is stored all the same.
 */
export class ConfigFault extends Error {
  override readonly name = 'ConfigFault'
  /** The member that is wrong. */
  readonly path: MemberPath
  readonly reason: 'verifier_misconfigured' | 'unsupported_verifier'

  constructor(
    message: string,
    path: MemberPath = [],
    reason: ConfigFault['reason'] = 'verifier_misconfigured',
  ) {
    super(message)
    this.path = path
    this.reason = reason
  }
}

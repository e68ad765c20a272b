import { VERIFY_WORK_BYTES_MAX } from '../../limits.ts'
import type { SignedRequest } from './signed-request.ts'

/** Contents up to this length are hashed without being counted: few of them can come of one request. */
const UNCOUNTED_BYTES = 64 * 1024

const spent = new WeakMap<SignedRequest, number>()

/**
 * Whether a request may cost so many bytes more to verify; if so, they count as spent. All verifiers of a request share
 * what it may cost, so that no sender and no configuration holds the event loop with large bodies and many signatures.
 */
export function affords(request: SignedRequest, bytes: number): boolean {
  const sum = (spent.get(request) ?? 0) + bytes
  if (sum > VERIFY_WORK_BYTES_MAX) return false
  spent.set(request, sum)
  return true
}

/** Whether it may cost another hash of a content of that length. */
export function affordsHash(request: SignedRequest, bytes: number): boolean {
  return bytes <= UNCOUNTED_BYTES || affords(request, bytes)
}

import { z } from 'zod'

import { MASKED_VALUE } from '../../core/delivery/delivery-headers.ts'
import {
  AGENT_BODY_BYTES_MAX,
  AGENT_HEADERS_MAX,
  AGENT_TEXT_LENGTH_MAX,
} from '../../core/limits.ts'
import { redact } from './secrets/redact.ts'
import { isSecretName } from './secrets/secret-names.ts'

/** So much more than is shown is looked through, so that no secret is shown in part for being cut. */
const MARGIN = 4_096

/** A text of a sender or a destination as an agent may see it: short, without secrets. */
export function shownText(text: string, lengthMax = AGENT_TEXT_LENGTH_MAX): string {
  const redacted = redact(text.slice(0, lengthMax + MARGIN))
  return redacted.length <= lengthMax
    ? redacted
    : `${redacted.slice(0, lengthMax - 1).toWellFormed()}…`
}

/** The same for one that there may not be. */
export function shownTextOrNull(text: string | null): string | null {
  return text === null ? null : shownText(text)
}

/** A body as an agent may see it. */
export function shownBody(
  body: string,
  bytesMax = AGENT_BODY_BYTES_MAX,
): { body: string; truncated: boolean } {
  const bytes = Buffer.from(redact(body.slice(0, bytesMax + MARGIN)))
  const cut = bytes.subarray(0, bytesMax)
  const truncated = cut.length < bytes.length || body.length > bytesMax + MARGIN
  // A character that was cut in two is left out.
  const text = truncated ? cut.toString().replace(/\ufffd$/, '') : cut.toString()
  return { body: text, truncated }
}

/** Each a name and its value. Clients of 2025 know no tuples in JSON Schema. */
export const Pairs = z.array(z.array(z.string()).length(2)).describe('Names and values, in order.')

/** Headers or parameters as an agent may see them. */
export function shownPairs(pairs: readonly (readonly [string, string])[]): [string, string][] {
  return pairs
    .slice(0, AGENT_HEADERS_MAX)
    .map(([name, value]) => [shownText(name), isSecretName(name) ? MASKED_VALUE : shownText(value)])
}

/** A URL without the secrets that its user, its query or its path may hold. */
export function urlWithoutSecrets(text: string): string {
  return redact(text)
}

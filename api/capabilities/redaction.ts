import { z } from 'zod'

import { MASKED_VALUE } from '../../core/delivery/delivery-headers.ts'
import {
  AGENT_BODY_BYTES_MAX,
  AGENT_HEADERS_MAX,
  AGENT_TEXT_LENGTH_MAX,
} from '../../core/limits.ts'

/** Names of headers, parameters and members whose values prove who somebody is. */
const SECRET_NAME =
  'authori[sz]ation|cookie|token|secret|signature|passw|api[-_]?key|hmac|credential|(?:access|private)[-_]?key'
const SECRET_NAMES = new RegExp(`${SECRET_NAME}|^(?:sig|key|auth|pwd|code|otp)$`, 'i')

/** A member of JSON, or a field of a form, with such a name. Names are short, so that looking for them stays cheap. */
const IN_JSON = new RegExp(
  String.raw`("[^"\\]{0,60}(?:${SECRET_NAME})[^"\\]{0,60}"\s{0,8}:\s{0,8})"(?:[^"\\]|\\.)*"?`,
  'gi',
)
const IN_FORM = new RegExp(
  String.raw`((?:^|[&?;])[^&=?;\s"]{0,60}(?:${SECRET_NAME})[^&=?;\s"]{0,60}=)[^&\s"]+`,
  'gi',
)

/** Secrets that are known by their form: our own, of well-known providers, and of well-known schemes. */
const KNOWN_FORMS = [
  /\b[a-z][a-z0-9]{0,15}_(?:sk|ag|enr|hb)_[0-9A-Za-z]{43}\b/g,
  /\bwhsec_[\w+/=-]{8,}/g,
  /\b(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{8,}/g,
  /\bgh[pousr]_[0-9A-Za-z]{20,}/g,
  /\bxox[a-z]-[\w-]{8,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  /(?<=\b(?:bearer|basic)\s)[\w.~+/=-]{8,}/gi,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g,
]

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
    .map(([name, value]) => [
      shownText(name),
      SECRET_NAMES.test(name) ? MASKED_VALUE : shownText(value),
    ])
}

/** A URL without the secrets that its query may hold. */
export function urlWithoutSecrets(text: string): string {
  const at = text.indexOf('?')
  if (at === -1) return shownText(text, text.length)
  const query = text
    .slice(at + 1)
    .split('&')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1)
      return SECRET_NAMES.test(name) ? `${name}=${MASKED_VALUE}` : pair
    })
  return redact(`${text.slice(0, at)}?${query.join('&')}`)
}

function redact(text: string): string {
  const named = text
    .replaceAll(IN_JSON, `$1"${MASKED_VALUE}"`)
    .replaceAll(IN_FORM, `$1${MASKED_VALUE}`)
  return KNOWN_FORMS.reduce((left, form) => left.replaceAll(form, MASKED_VALUE), named)
}

import { MASKED_VALUE } from '../../../core/delivery/delivery-headers.ts'
import { KNOWN_FORMS } from './known-forms.ts'
import { maskJson } from './mask-json.ts'
import { maskLines, maskMembers, maskPairs, maskTags } from './mask-text.ts'

/** JSON within a text of JSON, and so on: deeper than this a text is masked whole. */
const DEPTH_MAX = 6

/** A text without the secrets that its names or their form give away. */
export function redact(text: string, depth = 0): string {
  if (depth > DEPTH_MAX) return MASKED_VALUE
  const within = (inner: string): string => (inner.length < 2 ? inner : redact(inner, depth + 1))
  const at = text.search(/[{[]/)
  const known = at === -1 ? text : text.slice(0, at) + maskJson(text.slice(at), within)
  return maskKnown(maskLines(maskMembers(maskPairs(maskTags(known), within))))
}

function maskKnown(text: string): string {
  return KNOWN_FORMS.reduce((left, form) => left.replaceAll(form, MASKED_VALUE), text)
}

import { MASKED_VALUE } from '../../../core/delivery/delivery-headers.ts'
import { isSecretName } from './secret-names.ts'

const TOKEN = /(\s*)("(?:[^"\\]|\\[^])*"?|[{}[\]:,]|[^\s"{}[\]:,]+|$)/g
const MASKED = JSON.stringify(MASKED_VALUE)

/** No secrets, and no values. */
const PLAIN = /^(?:null|true|false|[}\]:,]|)$/

/** Members that name the member beside them: `{"name":"token","value":"…"}`. */
const NAMING = /^(?:name|key|field|header|label|param|parameter)$/i
const NAMED = /^(?:value|val|content)$/i

/**
 * Masks the values of members with secret names, whatever their type, and passes other strings through `redact`. It works on
 * tokens with their escapes decoded: the text may be several of JSON in a row, or be cut anywhere, and all else stays as it is.
 */
export function maskJson(text: string, redact: (text: string) => string): string {
  const tokens = [...text.matchAll(TOKEN)].map(([, space = '', token = '']) => ({ space, token }))
  const out: string[] = []
  /** Whether a member of each object around names a secret. */
  const named = [false]
  let member: string | undefined
  for (let at = 0; at < tokens.length; at++) {
    const { space, token } = tokens[at] ?? { space: '', token: '' }
    out.push(space)
    const string = token.startsWith('"') ? decoded(token) : undefined
    // Dialects of JSON leave the quotes of names out.
    const isName = tokens[at + 1]?.token === ':' && !/^[{}[\]:,]?$/.test(token)
    const isSecret = member !== undefined && isSecretMember(member, named.at(-1) === true)
    if (isSecret && !isName && !PLAIN.test(token)) {
      out.push(MASKED)
      at = endOf(tokens, at)
    } else {
      if (/^[{[]/.test(token)) named.push(false)
      if (/^[}\]]/.test(token) && named.length > 1) named.pop()
      if (!isName && isSecretName(string ?? '') && NAMING.test(member ?? '')) {
        named.splice(-1, 1, true)
      }
      out.push(string === undefined || isName ? token : masked(token, string, redact))
    }
    if (token !== ':') member = isName ? (string ?? token.replaceAll("'", '')) : undefined
  }
  return out.join('')
}

function isSecretMember(member: string, isNamed: boolean): boolean {
  return isSecretName(member) || (isNamed && NAMED.test(member))
}

function masked(token: string, string: string, redact: (text: string) => string): string {
  const redacted = redact(string)
  return redacted === string ? token : JSON.stringify(redacted)
}

/** The last token of the value that begins here. */
function endOf(tokens: readonly { token: string }[], from: number): number {
  let depth = 0
  for (let at = from; at < tokens.length; at++) {
    const { token = '' } = tokens[at] ?? {}
    if (/^[{[]/.test(token)) depth++
    if (/^[}\]]/.test(token)) depth--
    if (depth === 0) return at
  }
  return tokens.length
}

/** The string of a token, which may be cut or hold what JSON does not allow. */
function decoded(token: string): string {
  const isWhole = token.length > 1 && /[^\\](?:\\\\)*"$/.test(token)
  const whole = isWhole ? token : `${token.replace(/\\(?:u[0-9a-f]{0,3})?$/i, '')}"`
  try {
    return String(JSON.parse(whole))
  } catch {
    return whole.slice(1, -1)
  }
}

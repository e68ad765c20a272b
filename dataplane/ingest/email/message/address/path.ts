import { localOf } from './addr-spec.ts'
import { tokensOf } from './tokens.ts'

/** The longest address of a path. (RFC 5321 4.5.3.1.3) */
const ADDRESS_MAX = 254

const NAME = String.raw`[\p{L}\p{M}\p{N}_-]+(?:\.[\p{L}\p{M}\p{N}_-]+)*\.?`
const DOMAIN = String.raw`(?:${NAME}|\[[0-9A-Za-z.:-]+\])`
const LOCAL = String.raw`"(?:[^"\\\p{C}]|\\[ -~])*"|[^\s\p{C}()<>[\]:;@\\,"]+`
const PATH = new RegExp(
  String.raw`^<(?:(?:@${DOMAIN}(?:,@${DOMAIN})*:)?(${LOCAL})@(${DOMAIN})|(postmaster)?)>(?:\s+(.*))?$`,
  'isu',
)

/** The address in a command `MAIL` or `RCPT`. */
export interface SmtpPath {
  /** Without its route, needless quotes and the dot of the root. Empty for `<>`, without a domain for `<postmaster>`. */
  address: string
  /** The text behind the path. */
  parameters: string
}

/**
 * Reads the path of a command, behind its colon; undefined where it is none. Dots may stand side by side, and names may have
 * underscores: both are in use. (RFC 5321 4.1.2)
 */
export function readPath(text: string): SmtpPath | undefined {
  const match = PATH.exec(text.trim())
  if (match === null) return undefined
  const [, local, domain = '', postmaster = '', parameters = ''] = match
  if (local === undefined) return { address: postmaster, parameters }
  const plain = localOf(tokensOf(local))
  const address = `${plain ?? ''}@${domain.replace(/\.$/, '')}`
  return plain === undefined || address.length > ADDRESS_MAX ? undefined : { address, parameters }
}
